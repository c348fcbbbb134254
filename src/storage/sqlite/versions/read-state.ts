import type { ReadOptions, StatePaths, StateQuery, StateResult, StateRow } from '../../datasets/states.js'
import { TRANSACTION_RANGE } from '../../datasets/states.js'
import { type Db, statement } from '../connection/database.js'
import { readByIds } from '../connection/read-some.js'
import { findCandidates, findCandidatesOrNowhere } from '../tables/candidates.js'
import { createSorter, takeSorted } from '../tables/sort.js'
import { hexReader, pageValueSql, withLargeValues } from './large-rows.js'
import { planState, requireColumn, type StatePlan } from './plan.js'
import {
  beganAtSql,
  boxIdsSql,
  keyIdsSql,
  keyParams,
  mergedSql,
  nextIdsSql,
  previousIdsSql,
  rowIdSql,
  sortSql,
  stateSql,
} from './state-sql.js'
import type { TableState } from './versioned-table.js'

/*
 * Reads rows by their ids: a former row can be found by no other order. Event data of loader tables has a reader of its own,
 * tables/reader.ts, which reads along the table instead. Through this file 100,000 of its rows took 1.3 times as long, a
 * condition that leaves 700 of them 2.3 times, and an area 1.5 times.
 */

/** Conditions under which a state is read from SQLite. */
export interface StateReading extends ReadOptions {
  /** a connection that sees committed rows only */
  readonly db: Db
  /** called before each page. @throws AppError when the state can no longer be read */
  check?(): void
  /**
   * Finds the start of an offset among the matching rows, or a place shortly before it; called for readings
   * in the order of row ids.
   *
   * @param isWhole every row of the state matches
   * @returns undefined when no start is known
   */
  seek?(offset: number, isWhole: boolean): Start | undefined
}

/** Place in a state from which rows are read. */
export interface Start {
  /** id after which to read */
  afterId: number
  /** matching rows to skip from there */
  skip: number
}

const DEFAULT_PATHS: StatePaths = { conds: '$.condition', order: '$.order', columns: '$.columns' }
/** Row ids tested in one step when a condition may leave few of them: about 4 ms. */
const STEP_IDS = 2000
/** Most candidates taken from an index; with more the whole state is read instead. */
const MAX_CANDIDATES = 50_000

/**
 * Reads the rows of a state that match, in the order of their ids unless the query gives one.
 *
 * @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column: before it returns
 */
export function readState(reading: StateReading, state: TableState, query: StateQuery): StateResult {
  const plan = planOf(reading, state, query)
  return { columns: plan.columns, pages: readPages(reading, plan) }
}

/**
 * Yields the ids of the rows that match, ascending, step by step.
 *
 * @throws AppError BAD_CONDITION at the first step
 */
export async function* matchingIds(
  reading: StateReading,
  state: TableState,
  conds: unknown,
): AsyncGenerator<number[]> {
  const plan = planOf(reading, state, { conds })
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

/**
 * Reads whole rows by their ids, one at a time; ids that the state lacks are left out. The cost grows with the
 * ids. Nothing else may use the connection until the last one was taken.
 */
export function readRows(
  { db }: StateReading,
  state: TableState,
  ids: readonly number[],
): IterableIterator<StateRow> {
  const columns = [...state.columns]
  const sql = stateSql(state, '1', selectOf({ state, columns }))
  // no test: only citations are read by ids, and a citation has a transaction
  const named = state.tx === 'current' ? {} : { tx: state.tx }
  const read = statement(db, sql).raw().safeIntegers()
  // the columns are those that the statement selects
  return read.iterate({ ...named, ids: JSON.stringify(ids) }) as IterableIterator<StateRow>
}

/** Counts the rows that match; the query's order and limits are ignored. @throws AppError BAD_CONDITION */
export async function countState(
  reading: StateReading,
  state: TableState,
  query: StateQuery,
): Promise<number> {
  const plan = planOf(reading, state, query)
  let count = 0
  try {
    if (plan.box === 'empty') return 0
    const read = prepare<[bigint]>(reading.db, plan, plan.where, 'count(*)')
    for await (const ids of idSteps(reading, plan, 0)) count += Number(read(ids)[0]?.[0])
    return count
  } finally {
    plan.release()
  }
}

function planOf({ db, env, paths = DEFAULT_PATHS }: StateReading, state: TableState, query: StateQuery) {
  return planState(db, state, query, { env, paths })
}

async function* readPages(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  let left = plan.query.limit ?? Infinity
  try {
    if (plan.box === 'empty' || left === 0) return
    const whole = prepare<StateRow>(reading.db, { ...plan, params: [] }, '1', selectOf(plan))
    const pages = withLargeValues(pagesOf(reading, plan), {
      db: reading.db,
      columns: plan.columns,
      turns: reading.largeReads,
      signal: reading.signal,
      readWhole: (rowId) => whole([rowId]),
    })
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

function pagesOf(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  if (plan.order.length > 0) return readSorted(reading, plan)
  const { isFromEnd, limit = Infinity } = plan.query
  return isFromEnd === true ? readLast(reading, plan, limit) : readById(reading, plan)
}

/**
 * Reads the last rows that match, ascending: their ids first, because rows that are collected until the first
 * one is known could fill the memory.
 */
async function* readLast(reading: StateReading, plan: StatePlan, limit: number): AsyncGenerator<StateRow[]> {
  const readIds = prepare<[bigint]>(reading.db, plan, plan.where, rowIdSql(plan.state))
  const found: number[] = []
  for await (const ids of idSteps(reading, plan, plan.query.afterId ?? 0)) {
    for (const [id] of readIds(ids).toReversed()) found.push(Number(id))
    if (found.length >= limit) break
  }
  yield* prepareRows(reading, { ...plan, params: [] }, '1')(found.slice(0, limit).reverse())
}

async function* readById(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  const { offset = 0, afterId = 0 } = plan.query
  const start = offset === 0 ? undefined : reading.seek?.(offset, plan.where === '1')
  let skip = start?.skip ?? offset
  const read = prepareRows(reading, plan, plan.where)
  const count = prepare<[bigint]>(reading.db, plan, plan.where, 'count(*)')
  for await (const ids of idSteps(reading, plan, start?.afterId ?? afterId)) {
    if (skip >= ids.length) {
      skip -= Number(count(ids)[0]?.[0]) // never below 0: at most every id matches
      continue
    }
    for (const rows of read(ids)) {
      yield rows.slice(skip)
      skip = Math.max(0, skip - rows.length)
    }
  }
}

/**
 * Sorts ids by their keys first, then reads the rows page by page. The memory of the keys is bounded; the
 * state is read again for rows that do not fit.
 */
async function* readSorted(reading: StateReading, plan: StatePlan): AsyncGenerator<StateRow[]> {
  const { pageRows, pause } = reading
  const { offset = 0, limit = Infinity } = plan.query
  const sorter = createSorter(
    plan.order.map((term) => term.isDescending),
    offset + limit,
  )
  const keys = plan.order.map(({ column }) => sortSql(plan.state, requireColumn(plan.state, column)))
  const readKeys = preparePages(reading, plan, plan.where, [rowIdSql(plan.state), ...keys].join(', '))
  const scan = async () => {
    for await (const ids of idSteps(reading, plan, 0)) {
      for (const page of readKeys(ids))
        for (const [rowId, ...values] of page) sorter.add({ rowId: Number(rowId), keys: values })
    }
  }
  const take = (count: number) => takeSorted(sorter, scan, count)
  await scan()
  for (let skip = offset; skip > 0; ) {
    const { length } = await take(Math.min(skip, pageRows))
    skip = length === 0 ? 0 : skip - length
    await pause()
  }
  const read = prepareRows(reading, { ...plan, params: [] }, '1')
  for (let page = await take(pageRows); page.length > 0; page = await take(pageRows)) {
    await pause()
    reading.check?.()
    yield* read(page)
  }
}

/**
 * Yields the ids of rows that may match, ascending in each step; when the query reads from the end, the last
 * step first.
 */
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

/** Returns candidates from the key's or a spatial index, undefined when neither narrows the search. */
async function findIds({ db, pause }: StateReading, plan: StatePlan): Promise<Float64Array | undefined> {
  const { state, keyTerms, box } = plan
  const count = MAX_CANDIDATES + 1
  if (keyTerms.length > 0) {
    const ids = db
      .prepare<unknown[], number>(keyIdsSql(state, keyTerms))
      .pluck()
      .all({ count }, ...keyParams(state, keyTerms))
    if (ids.length < count) return uniqueAscending(ids, state)
  }
  if (box === undefined || box === 'empty') return undefined
  const { slot, bbox } = box
  const [west, south, east, north] = bbox
  const { loader } = state.table
  if (loader === undefined) {
    const ids = statement<number>(db, boxIdsSql(state, slot)).pluck().all({ west, south, east, north, count })
    return ids.length < count ? uniqueAscending(ids, state) : undefined
  }
  if (state.columns[slot]?.name !== 'location') return undefined // the only column of a loader table's index
  const find = plan.query.within?.isNullIn === true ? findCandidatesOrNowhere : findCandidates
  const steps = find(db, loader, bbox, undefined)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return uniqueAscending(step.value, state)
    await pause()
  }
}

function uniqueAscending(ids: ArrayLike<number>, { lastRowId }: TableState): Float64Array {
  const sorted = Float64Array.from(ids).sort()
  let kept = 0
  for (const id of sorted) {
    if (id <= lastRowId && (kept === 0 || id !== sorted[kept - 1])) sorted[kept++] = id
  }
  return sorted.subarray(0, kept)
}

/**
 * Prepares a statement over rows by id. A text with a caller's condition is not kept: the number of such
 * texts has no bound.
 */
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

/** Prepares a statement over rows by id, whose pages have sizes in place of large values. */
function prepareRows(
  reading: StateReading,
  plan: StatePlan,
  where: string,
): (ids: ArrayLike<number>) => Generator<StateRow[]> {
  const read = preparePages(reading, plan, where, selectOf(plan, true))
  const readHex = hexReader(plan.columns)
  return function* (ids) {
    for (const rows of read(ids)) {
      readHex(rows)
      yield rows
    }
  }
}

/** Prepares a statement over rows by id, whose result comes in pages that are neither long nor large. */
function preparePages(
  { db, pageRows }: StateReading,
  plan: StatePlan,
  where: string,
  select: string,
): (ids: ArrayLike<number>) => Generator<StateRow[]> {
  const sql = stateSql(plan.state, where, select)
  const made = (where === '1' ? statement(db, sql) : db.prepare(sql)).raw().safeIntegers()
  const { tx } = plan.state
  const paramsOf = (ids: string) => [tx === 'current' ? { ids } : { ids, tx }, ...plan.params]
  return (ids) => readByIds<StateRow>(made, ids, paramsOf, { maxRows: pageRows })
}

/** @param isPage sizes stand in place of large values, hexadecimal digits in that of small geometries */
function selectOf({ state, columns }: Pick<StatePlan, 'state' | 'columns'>, isPage = false): string {
  const values = columns.map((column) => {
    if (column.name === TRANSACTION_RANGE) return beganAtSql(state)
    const sql = mergedSql(state, column)
    return isPage ? pageValueSql(column, sql) : sql
  })
  return [rowIdSql(state), ...values].join(', ')
}
