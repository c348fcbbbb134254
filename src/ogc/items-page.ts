import type { FeatureSource } from '../storage/features.js'
import type { TableRow } from '../storage/tables.js'
import type { ItemsQuery } from './items-query.js'
import type { Link } from './types.js'

/** Bounds of a page of features; complete when its rows have been read. */
export interface PageEnd {
  firstId: number | undefined
  lastId: number | undefined
  count: number
  /** more features match in the direction of reading */
  hasMore: boolean
}

/** Page of features to print. Rows are read while the text is made. */
export interface ItemsPage {
  readonly source: FeatureSource
  readonly query: ItemsQuery
  readonly rows: AsyncGenerator<TableRow[]>
  readonly end: PageEnd
  /** to be called when all rows have been read */
  links(): Link[]
  numberMatched(): Promise<number | undefined>
  timeStamp(): string
}
