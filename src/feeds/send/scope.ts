import type { FeedRecord } from '../../storage/exchange/feeds.js'
import type { ChangeFilter, LoaderTable } from '../../storage/tables.js'

/** Part of a table that a feed sends. */
export interface FeedScope {
  /** every row of the table with all columns: what is kept with each write can be compared */
  readonly isWhole: boolean
  /** change after which its rows begin */
  readonly afterChange: number
  readonly backlog: ChangeFilter['backlog']
}

/**
 * Returns the part of a table that a feed sends.
 *
 * @param tableUuid of the table as it is now: one that was made anew is sent from its first row
 */
export function scopeOf(
  { conds, columns, start }: Pick<FeedRecord, 'conds' | 'columns' | 'start'>,
  table: LoaderTable,
  tableUuid: string,
): FeedScope {
  const isFirstTable = start.tableUuid === tableUuid
  const afterChange = isFirstTable ? start.afterChange : 0
  const { fromUs, untilChange } = start
  const backlog = fromUs === null || !isFirstTable ? undefined : { untilChange, fromUs }
  const hasAllColumns =
    columns === null || table.columns.slice(RESERVED).every(({ name }) => columns.includes(name))
  const hasAllRows = (conds ?? null) === null && afterChange === 0 && (backlog?.untilChange ?? 0) === 0
  return { isWhole: hasAllColumns && hasAllRows, afterChange, backlog }
}

/** Number of columns at the beginning of each table, which every feed sends. */
const RESERVED = 3

/** Returns the names of the columns that a feed sends; null for all. */
export function sentNames({ columns }: Pick<FeedRecord, 'columns'>, table: LoaderTable): string[] | null {
  if (columns === null) return null
  return [...table.columns.slice(0, RESERVED).map(({ name }) => name), ...columns]
}
