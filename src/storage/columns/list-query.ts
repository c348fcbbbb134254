import type { ValueEnv } from './column-type.js'

/** Filter, order and page of a list, as a caller sent them. */
export interface ListQuery {
  /** condition of the contract (`{"=": ["column", value]}`); undefined for every row */
  conds?: unknown
  /** `column`, `-column`, or an array of those; ties are broken by the order of creation */
  order?: unknown
  /** rows returned at most; undefined for all */
  limit?: number | undefined
  /** rows skipped before the first one returned */
  offset?: number | undefined
  /** time zone and instant that values of the condition are read with */
  env: ValueEnv
}
