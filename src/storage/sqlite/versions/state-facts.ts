import type { Bbox } from '../../../geo/types.js'
import type { Operand } from '../../columns/condition.js'
import type { RowFacts } from '../../columns/condition-cost.js'
import { type Db, identifier, oneValue, statement } from '../connection/database.js'
import { meanBytes } from '../connection/mean-bytes.js'
import { indexSql, ROW_ID } from '../tables/ddl.js'
import { versionNames } from '../tables/version-names.js'
import { boxIdsSql, keyIdsSql, keyParams } from './state-sql.js'
import type { TableState } from './versioned-table.js'

/** Rows of an index that are counted at most: with more the whole state is read, see `read-state.ts`. */
const MAX_COUNTED = 50_000

/** Parts of a plan that narrow a query: see `StatePlan`. */
interface Narrowing {
  readonly keyTerms: readonly { readonly sql: string; readonly params: readonly Operand[] }[]
  readonly box: { readonly slot: number; readonly bbox: Bbox } | 'empty' | undefined
}

/**
 * Counts the rows that an index leaves for a condition; the lengths are those of the current rows.
 *
 * @param most rows of an index that are counted; from as many on, all rows of the state count
 */
export function stateFacts(
  db: Db,
  state: TableState,
  { keyTerms, box }: Narrowing,
  most = MAX_COUNTED,
): RowFacts {
  const { current } = versionNames(state.table)
  const ofKey = keyTerms.length === 0 ? Infinity : rowsOfKey(db, state, keyTerms, most)
  const ofIndex = ofKey < Infinity || box === undefined ? ofKey : rowsInBox(db, state, box, most)
  return {
    rows: Math.min(state.lastRowId, rowsOf(db, state), ofIndex),
    meanBytes: (column) => meanBytes(db, current, identifier(column)),
  }
}

/** Returns at least the number of rows of a state: row ids are ascending, and old rows of a table may be gone. */
function rowsOf(db: Db, { table }: TableState): number {
  const { current, gone } = versionNames(table)
  const ids = `SELECT coalesce(max(${ROW_ID}) - (SELECT min(${ROW_ID}) FROM ${current}) + 1, 0) FROM ${current}`
  const isKept = table.versionedId === 0 ? 0 : oneValue<number>(db, `SELECT count(*) FROM ${gone}`)
  return oneValue<number>(db, ids) + isKept
}

function rowsOfKey(db: Db, state: TableState, keyTerms: Narrowing['keyTerms'], most: number): number {
  const sql = `SELECT count(*) FROM (${keyIdsSql(state, keyTerms)})`
  const found = db
    .prepare<unknown[], number>(sql)
    .pluck()
    .get({ count: most }, ...keyParams(state, keyTerms))
  return boundOf(found, most)
}

function rowsInBox(db: Db, state: TableState, box: NonNullable<Narrowing['box']>, most: number): number {
  if (box === 'empty') return 0
  const { slot, bbox } = box
  const [west, south, east, north] = bbox
  const { loader } = state.table
  if (loader === undefined) {
    const count = statement<number>(db, `SELECT count(*) FROM (${boxIdsSql(state, slot)})`).pluck()
    return boundOf(count.get({ west, south, east, north, count: most }), most)
  }
  if (state.columns[slot]?.name !== 'location') return Infinity // the index has no other column
  const where = 'max_lng >= ? AND min_lng <= ? AND max_lat >= ? AND min_lat <= ?'
  const sql = `SELECT coalesce(sum(row_count), 0) FROM ${indexSql(loader)} WHERE ${where}`
  return oneValue<number>(db, sql, west, east, south, north)
}

/** @param found undefined is for the types alone: a count has a row */
function boundOf(found: number | undefined, most: number): number {
  return found === undefined || found >= most ? Infinity : found
}
