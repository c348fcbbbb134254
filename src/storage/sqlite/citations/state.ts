import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { type Db, statement } from '../connection/database.js'
import type { Pause } from '../connection/pause.js'
import type { StateColumn } from '../datasets/column.js'
import { findCandidates, findCandidatesOrNowhere } from '../tables/candidates.js'
import { lastOf } from '../tables/last-of.js'
import { createSorter } from '../tables/sort.js'
import {
  beganAtSql,
  boxIdsSql,
  keyIdsSql,
  mergedSql,
  nextIdsSql,
  planState,
  previousIdsSql,
  rowIdSql,
  type StatePaths,
  type StatePlan,
  type StateQuery,
  stateSql,
  type TableState,
  TRANSACTION_RANGE,
} from './plan.js'

/** A row as stored: its id, then the plan's columns. */
export type StateRow = [rowId: bigint, ...values: Stored[]]

/** What reading a state depends on. */
export interface StateReading {
  /** a connection that sees committed rows only */
  readonly db: Db
  readonly env: ValueEnv
  readonly pageRows: number
  /** called between steps of a few milliseconds */
  readonly pause: Pause
  /** called before each page. @throws AppError when the state can be read no more */
  check?(): void
  /**
   * Where an offset among the matching rows begins, or a little earlier; asked for readings in the order of row ids.
   *
   * @param isWhole every row of the state matches
   * @returns the id after which to read and how many rows are still to be left out; undefined when nothing is known
   */
  seek?(offset: number, isWhole: boolean): Start | undefined
}

export interface Start {
  afterId: number
  skip: number
}

/** What was asked for, with the columns of its rows. */
export interface StateResult {
  readonly columns: readonly StateColumn[]
  /** no statement stays open between two pages, so writers go on */
  readonly pages: AsyncGenerator<StateRow[]>
}

const DEFAULT_PATHS: StatePaths = { conds: '$.condition', order: '$.order', columns: '$.columns' }
/** Row ids looked at in one step when a condition may leave few of them: about 4 ms. */
const STEP_IDS = 2000
/** Beyond so many candidates of an index the state is read along instead. */
const MAX_CANDIDATES = 50_000

/**
 * Reads the rows of a state that match, in the order of their ids unless another is asked for.
 *
 * @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column: before this returns
 */
export function readState(
  reading: StateReading,
  state: TableState,
  query: StateQuery,
  paths: StatePaths = DEFAULT_PATHS,
): StateResult {
  const plan = planState(reading.db, state, query, reading.env, paths)
  return { columns: plan.columns, pages: readPages(reading, plan) }
}

/** Ids of the rows that match, ascending, a step at a time. @throws AppError BAD_CONDITION at the first step */
export async function* matchingIds(
  reading: StateReading,
  state: TableState,
  conds: unknown,
  paths: StatePaths = DEFAULT_PATHS,
): AsyncGenerator<number[]> {
  const plan = planState(reading.db, state, { conds }, reading.env, paths)
  try {
    if (plan.box === 'empty') return
    const read = prepare<[bigint]>(reading.db, plan, plan.where, rowIdSql(state))
    for await (const ids of idSteps(reading, plan, 0)) {
      const found = read(ids).map(([id]) => Number(id))
      if (found.length > 0) yield found
    }
  } finally {
    plan.release()
  }
}

/** How many rows match; the query's order and limits mean nothing here. @throws AppError BAD_CONDITION */
export async function countState(
  reading: StateReading,
  state: TableState,
  query: StateQuery,
  paths: StatePaths = DEFAULT_PATHS,
): Promise<number> {
  const plan = planState(reading.db, state, query, reading.env, paths)
  let count = 0
  try {
    if (plan.box === 'empty') return 0
    const read = prepare<[bigint]>(reading.db, plan, plan.where, 'count(*)')
    for await (const ids of idSteps(reading, plan, 0)) count += Number(read(ids)[0]?.[0] ?? 0)
    return count
  } finally {
    plan.release()
  }
}

async function* readPages(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  const { offset = 0, limit = Infinity } = plan.query
  let left = limit
  try {
    if (plan.box === 'empty' || left === 0) return
    const pages = pagesOf(reading, plan, offset)
    for await (const rows of pages) {
      const page = rows.slice(0, left)
      left -= page.length
      if (page.length > 0) yield page
      if (left === 0) return
    }
  } finally {
    plan.release()
  }
}

function pagesOf(reading: StateReading, plan: StatePlan, offset: number): AsyncGenerator<StateRow[]> {
  if (plan.order.length > 0) return readSorted(reading, plan)
  const { isFromEnd, limit = Infinity } = plan.query
  const rows = readById(reading, plan, offset)
  return isFromEnd === true ? lastOf(rows, limit, reading.pageRows) : rows
}

async function* readById(reading: StateReading, plan: StatePlan, offset: number): AsyncGenerator<StateRow[]> {
  const start = offset === 0 ? undefined : reading.seek?.(offset, plan.where === '1')
  let skip = start?.skip ?? offset
  const read = prepare<StateRow>(reading.db, plan, plan.where, selectOf(plan))
  const count = prepare<[bigint]>(reading.db, plan, plan.where, 'count(*)')
  for await (const ids of idSteps(reading, plan, start?.afterId ?? plan.query.afterId ?? 0)) {
    if (skip >= ids.length) {
      skip -= Number(count(ids)[0]?.[0] ?? 0) // leaves nothing to be counted twice: a count is at most its ids
      continue
    }
    const rows = read(ids)
    yield rows.slice(skip)
    skip = Math.max(0, skip - rows.length)
  }
}

/** Ids and sort keys first, then the rows, page by page in their order. */
async function* readSorted(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  const { db, pageRows, pause } = reading
  const { offset = 0, limit = Infinity } = plan.query
  const sorter = createSorter(
    plan.order.map((term) => term.isDescending),
    offset + limit,
  )
  const keys = plan.order.map(({ column }) => sortSql(plan, column))
  const readKeys = prepare<StateRow>(db, plan, plan.where, [rowIdSql(plan.state), ...keys].join(', '))
  for await (const ids of idSteps(reading, plan, 0)) {
    for (const [rowId, ...values] of readKeys(ids)) sorter.add({ rowId: Number(rowId), keys: values })
  }
  for (let skip = offset; skip > 0; skip -= pageRows) {
    sorter.take(Math.min(skip, pageRows))
    await pause()
  }
  const read = prepare<StateRow>(db, { ...plan, params: [] }, '1', selectOf(plan))
  for (let page = sorter.take(pageRows); page.length > 0; page = sorter.take(pageRows)) {
    await pause()
    reading.check?.()
    yield read(page)
  }
}

/** Ids of rows that may match, step by step, ascending; the last step first when the query reads from the end. */
async function* idSteps(
  reading: StateReading,
  plan: StatePlan,
  afterId: number,
): AsyncGenerator<ArrayLike<number>> {
  const { db, pause, pageRows } = reading
  const { state } = plan
  const { beforeId = Infinity, isFromEnd = false, offset = 0, limit = Infinity } = plan.query
  const until = Math.min(state.lastRowId, beforeId - 1)
  const found = await findIds(reading, plan)
  const all = offset === 0 ? Math.max(1, Math.min(pageRows, limit)) : pageRows
  const count = plan.where === '1' ? all : STEP_IDS
  if (found !== undefined) {
    const ids = found.filter((id) => id > afterId && id <= until)
    for (let done = 0; done < ids.length; done += count) {
      await pause()
      reading.check?.()
      yield isFromEnd
        ? ids.subarray(Math.max(0, ids.length - done - count), ids.length - done)
        : ids.subarray(done, done + count)
    }
    return
  }
  const step = statement<number>(db, isFromEnd ? previousIdsSql(state) : nextIdsSql(state)).pluck()
  for (let bounds = { after: afterId, until }; ; ) {
    await pause()
    reading.check?.()
    const ids = step.all({ ...bounds, count })
    const last = ids.at(-1)
    if (last === undefined) return
    yield isFromEnd ? ids.reverse() : ids
    if (ids.length < count) return
    bounds = isFromEnd ? { ...bounds, until: last - 1 } : { ...bounds, after: last }
  }
}

/** Candidates of an index, or undefined when none helps. */
async function findIds(reading: StateReading, plan: StatePlan): Promise<Float64Array | undefined> {
  const { db } = reading
  const count = MAX_CANDIDATES + 1
  if (plan.keyTerms.length > 0) {
    const params = plan.keyTerms.flatMap((term) => term.params)
    const ids = db
      .prepare<unknown[], number>(keyIdsSql(plan))
      .pluck()
      .all({ count }, ...params, ...params)
    if (ids.length < count) return ascendingOnce(ids, plan.state)
  }
  if (plan.box === undefined || plan.box === 'empty') return undefined
  const { slot, bbox } = plan.box
  const [west, south, east, north] = bbox
  const { loader } = plan.state.table
  if (loader === undefined) {
    const box = { west, south, east, north, count }
    const ids = statement<number>(db, boxIdsSql(plan.state, slot)).pluck().all(box)
    return ids.length < count ? ascendingOnce(ids, plan.state) : undefined
  }
  if (plan.state.columns[slot]?.name !== 'location') return undefined // the loader's index knows no other
  const find = plan.query.within?.isNullIn === true ? findCandidatesOrNowhere : findCandidates
  const steps = find(db, loader, bbox, undefined)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return ascendingOnce(step.value, plan.state)
    await reading.pause()
  }
}

function ascendingOnce(ids: ArrayLike<number>, { lastRowId }: TableState): Float64Array {
  const sorted = Float64Array.from(ids).sort()
  let kept = 0
  for (const id of sorted) {
    if (id <= lastRowId && (kept === 0 || id !== sorted[kept - 1])) sorted[kept++] = id
  }
  return sorted.subarray(0, kept)
}

/** A statement over rows by id; texts that a caller has a part in are prepared anew, for there is no end of them. */
function prepare<Row>(
  db: Db,
  plan: StatePlan,
  where: string,
  select: string,
): (ids: ArrayLike<number>) => Row[] {
  const sql = stateSql(plan.state, where, select)
  const made = (where === '1' ? statement<Row>(db, sql) : db.prepare<unknown[], Row>(sql))
    .raw()
    .safeIntegers()
  const { tx } = plan.state
  const named = tx === 'current' ? {} : { tx }
  return (ids) => made.all({ ...named, ids: JSON.stringify(Array.from(ids)) }, ...plan.params) as Row[]
}

function selectOf({ state, columns }: StatePlan): string {
  const values = columns.map((column) =>
    column.name === TRANSACTION_RANGE ? beganAtSql(state) : mergedSql(state, column),
  )
  return [rowIdSql(state), ...values].join(', ')
}

function sortSql({ state }: StatePlan, name: string): string {
  const column = state.columns.find((one) => one.name === name)
  if (column === undefined) throw new Error(`the order names ${name}, which was checked`)
  const sql = column.type.sortKey?.(mergedSql(state, column)) ?? 'NULL'
  return column.type.collation === 'RTRIM' ? `rtrim(${sql}, ' ')` : sql
}
