import { addDigest, createRowDigest, type DigestSum, noRows, takeDigest } from '../../exchange/row-digest.js'
import type { StepResult } from '../../removal/sent.js'
import type { LoaderTable } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { CHANGE_SQL, columnName, rowsName, sqlTypeOf } from '../tables/ddl.js'
import { sumNumber } from '../tables/digest-sums.js'
import type { WriteMark } from '../tables/row-writer.js'
import { readValues } from '../tables/stored-values.js'
import type { TableState } from '../tables/table-state.js'
import { SUM_BASE } from '../tables/write-sql.js'

/** A table whose lock the transaction holds. */
export interface LockedTable {
  readonly table: LoaderTable
  readonly state: TableState
  readonly mark: WriteMark
  /** µs UTC */
  readonly nowUs: bigint
}

/** Counts of a step for the rule of its table. */
type Counts = Pick<StepResult, 'removed' | 'dropped'> & { readonly thinned: number }

/** Rows of an origin whose last write there was on one day. */
interface RemovedDay {
  readonly originId: number
  readonly day: number
  /** of all rows */
  readonly sum: DigestSum
  /** what the sums of the table lose */
  readonly counted: DigestSum
}

/**
 * Removes rows of a table, in one statement with its sums, its numbers and the mark of the writer, and notes them by origin and
 * day: another node may have them. The bytes of files stay until the next sweep.
 *
 * @param ids ids of rows of the table
 */
export async function removeRows(
  rows: Rows,
  { table, state, mark, nowUs }: LockedTable,
  ids: readonly number[],
  { removed, thinned, dropped }: Counts,
): Promise<void> {
  if (ids.length === 0) return
  const days = await readDays(rows, table, state.counted, ids)
  const sums = (of: (day: RemovedDay) => DigestSum) =>
    state.counted === null ? days.map(() => null) : days.map((day) => sumNumber(of(day)))
  await rows.lists(
    removeSql(table),
    [
      ...[table.tableId, ids, days.map(({ originId }) => originId), days.map(({ day }) => day)],
      ...[days.map(({ sum }) => sum.rows), sums(({ sum }) => sum)],
      ...[days.map(({ counted }) => counted.rows), sums(({ counted }) => counted)],
      ...[removed, thinned, dropped, nowUs, mark.writer, mark.writeId],
    ],
    'kept',
  )
}

/** Reads rows that go, by origin and day. @param counted changes that are in the sums of the table; null for none */
async function readDays(
  rows: Rows,
  table: LoaderTable,
  counted: number | null,
  ids: readonly number[],
): Promise<RemovedDay[]> {
  const slots = counted === null ? [] : [...table.columns.keys()]
  const columns = ['t.origin', 't.day', CHANGE_SQL, ...slots.map((slot) => `t.${columnName(slot)}`)]
  const sql = `SELECT ${columns.join(', ')} FROM ${rowsName(table)} AS t WHERE t.row_id = ANY ($1::bigint[])`
  const types = table.columns.map(sqlTypeOf)
  const digest = createRowDigest(table.columns)
  const days = new Map<string, RemovedDay>()
  for (const row of await rows.lists(sql, [ids], 'kept')) {
    const [origin, day, change] = row
    const name = `${origin} ${day}`
    const known = days.get(name)
    const into = known ?? { originId: Number(origin), day: Number(day), sum: noRows(), counted: noRows() }
    days.set(name, into)
    if (counted === null) {
      into.sum.rows++
      continue
    }
    const ofRow = digest(readValues(types, row, HEAD))
    addDigest(into.sum, ofRow)
    if (Number(change) <= counted) takeDigest(into.counted, ofRow)
  }
  return [...days.values()]
}

/** Values of a row before those of its columns. */
const HEAD = 3

/** A sum that is not known stays so: a sum of it and another one is null. */
function removeSql(table: LoaderTable): string {
  return `WITH deleted AS (
    DELETE FROM ${rowsName(table)} WHERE row_id = ANY ($2::bigint[]) RETURNING 1
  ), noted AS (
    INSERT INTO loader_removed_day AS d (table_id, origin_id, day, rows, sum)
    SELECT $1::bigint, * FROM unnest($3::integer[], $4::integer[], $5::bigint[], $6::numeric[])
    ON CONFLICT (table_id, origin_id, day)
      DO UPDATE SET rows = d.rows + excluded.rows, sum = mod(d.sum + excluded.sum, ${SUM_BASE})
  ), summed AS (
    UPDATE loader_digest_day AS d SET rows = d.rows + s.rows, sum = mod(d.sum + s.sum, ${SUM_BASE})
    FROM unnest($3::integer[], $4::integer[], $7::bigint[], $8::numeric[]) AS s(origin_id, day, rows, sum)
    WHERE d.table_id = $1::bigint AND d.origin_id = s.origin_id AND d.day = s.day AND s.rows <> 0
  ), numbered AS (
    UPDATE loader_state SET data_version = data_version + 1, gone = gone + (SELECT count(*) FROM deleted)
    WHERE table_id = $1::bigint
  ), ruled AS (
    UPDATE loader_retention SET removed = removed + $9::bigint, thinned = thinned + $10::bigint,
      unsent = unsent + $11::bigint, last_run_us = $12::bigint WHERE table_id = $1::bigint
  )
  INSERT INTO loader_writer (table_id, writer, write_id) VALUES ($1::bigint, $13::text, $14::text)
  ON CONFLICT (table_id, writer) DO UPDATE SET write_id = excluded.write_id`
}
