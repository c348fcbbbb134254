import type { Pause } from '../../work/pause.js'
import type { Rows, TextRow } from '../connection/database.js'
import { LOCATION_SQL, rowsName } from '../tables/ddl.js'
import { readStored } from '../tables/stored-values.js'
import { decide } from './condition-sql.js'
import { idsOf, SCAN_IDS } from './ids.js'
import { type QueryPlan, whereSql } from './query.js'
import { sortedIds } from './sorted-ids.js'

/** Parameters of reading matching rows. */
export interface MatchReading {
  readonly rows: Rows
  readonly plan: QueryPlan
  /** ends the reading by an error */
  readonly pause: Pause
}

/** Rows that one statement answers whose areas are tested here. */
const TEST_ROWS = 500
/** Largest location that is tested together with others. */
const BULK_BYTES = 64 * 1024

/** True where the rows of a query are tested here, besides what the server tests. */
export function needsTest({ query, residual }: QueryPlan): boolean {
  return query.area !== undefined || residual !== undefined
}

/**
 * Reads the ids of matching rows, in the order of the query or else of the ids; the greatest first when the query reads
 * from the end. `offset` and `limit` are left to the caller.
 *
 * @param most number of ids that are wanted
 */
export async function* matchingIds(reading: MatchReading, most: number): AsyncGenerator<number[]> {
  const { plan } = reading
  if (plan.isEmpty) return
  if (plan.order.length > 0) {
    const tested = needsTest(plan) ? await collect(testedIds(reading)) : undefined
    yield* sortedIds(reading, tested, most)
  } else if (needsTest(plan)) yield* testedIds(reading)
  else yield* idsInOrder(reading, most)
}

async function collect(pages: AsyncIterable<number[]>): Promise<number[]> {
  const all: number[] = []
  for await (const page of pages) for (const id of page) all.push(id)
  return all
}

async function* idsInOrder({ rows, plan, pause }: MatchReading, most: number): AsyncGenerator<number[]> {
  const { isFromEnd = false } = plan.query
  const direction = isFromEnd ? 'DESC' : 'ASC'
  let edge: number | undefined
  for (let left = most; left > 0; ) {
    await pause()
    const values = [...plan.values]
    const beyond =
      edge === undefined ? [] : [`t.row_id ${isFromEnd ? '<' : '>'} $${values.push(edge)}::bigint`]
    const count = Math.min(left, SCAN_IDS)
    const page = `SELECT t.row_id FROM ${rowsName(plan.table)} AS t ${whereSql(plan, beyond)}
      ORDER BY t.row_id ${direction} LIMIT ${count}`
    const sql = `SELECT string_agg(row_id::text, ',' ORDER BY row_id ${direction}) FROM (${page}) AS page`
    const [answer] = await rows.lists(sql, values, 'once')
    const ids = idsOf(answer)
    if (ids.length > 0) yield ids
    if (ids.length < count) return
    edge = ids.at(-1)
    left -= ids.length
  }
}

/** Reads rows page by page and tests them here. */
async function* testedIds(reading: MatchReading): AsyncGenerator<number[]> {
  const { rows, plan, pause } = reading
  const { isFromEnd = false, area } = plan.query
  const direction = isFromEnd ? 'DESC' : 'ASC'
  const location = `CASE WHEN octet_length(${LOCATION_SQL}) <= ${BULK_BYTES} THEN ${LOCATION_SQL} END`
  const select = ['t.row_id', `octet_length(${LOCATION_SQL})`, area === undefined ? 'NULL' : location]
  for (let edge: string | null | undefined; edge !== null; ) {
    await pause()
    const values = [...plan.values]
    const beyond =
      edge === undefined ? [] : [`t.row_id ${isFromEnd ? '<' : '>'} $${values.push(edge)}::bigint`]
    const sql = `SELECT ${[...select, ...plan.outputs].join(', ')} FROM ${rowsName(plan.table)} AS t
      ${whereSql(plan, beyond)} ORDER BY t.row_id ${direction} LIMIT ${TEST_ROWS}`
    const page = await rows.lists(sql, values, 'once')
    const ids: number[] = []
    for (const row of page) if (await passes(reading, row)) ids.push(Number(row[0]))
    if (ids.length > 0) yield ids
    edge = page.length < TEST_ROWS ? null : page.at(-1)?.[0]
  }
}

/** Tests one row: id, size of the location, the location unless it is large, answers to the outputs of the plan. */
async function passes({ rows, plan, pause }: MatchReading, row: TextRow): Promise<boolean> {
  await pause()
  const { area, isNowhereIn = false } = plan.query
  const [id, size, wkb, ...answers] = row
  if (plan.residual !== undefined && decide(plan.residual, answers) !== true) return false
  if (area === undefined) return true
  return size === null ? isNowhereIn : area.intersectsWkb(await locationOf(rows, plan, id, wkb))
}

/** Returns a location: a large one is read alone. */
async function locationOf(
  rows: Rows,
  { table }: QueryPlan,
  id: string | null | undefined,
  wkb: string | null | undefined,
): Promise<Uint8Array> {
  if (typeof wkb === 'string') return Buffer.from(wkb.slice(2), 'hex')
  const sql = `SELECT ${LOCATION_SQL} FROM ${rowsName(table)} AS t WHERE t.row_id = $1::bigint`
  const [[found] = []] = await rows.lists(sql, [id ?? null], 'kept')
  return (readStored('bytea', found) as Uint8Array | null) ?? new Uint8Array() // none: it was removed meanwhile
}
