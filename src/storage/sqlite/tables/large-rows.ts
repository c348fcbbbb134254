import type { Stored } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { LARGE_BYTES, type LargeValue } from '../../columns/large-values.js'
import { handOver } from '../../hand-over.js'
import { printRows, type RowPrinting } from '../../records/print-rows.js'
import type { Column, TableRow } from '../../tables.js'
import type { LargeReads } from '../../work/large-reads.js'
import type { Db } from '../connection/database.js'
import { mayBeLarge, requireReadable, valueOrSizeSql } from '../connection/large-values.js'
import { ROW_ID } from './ddl.js'
import type { MatchRow } from './matches.js'
import { readableSql } from './origins.js'
import { byIdsSql, type QueryPlan } from './query.js'

/** Returns the SQL list of a page: sizes in place of large values. @param names `location` first */
export function pageSelect({ table, query }: QueryPlan, names: readonly string[]): string {
  const values = names.map((name) => {
    const sql = readableSql(table, name)
    // an area is compared with the location itself
    const isNeeded = name === 'location' && query.area !== undefined
    return isLargeColumn(table.columnByName.get(name)) && !isNeeded ? valueOrSizeSql(sql) : sql
  })
  return [`t.${ROW_ID}`, ...values].join(', ')
}

function isLargeColumn(column: Column | undefined): boolean {
  if (column === undefined || column.file !== null) return false
  return mayBeLarge(typeOf(column.udtName).kind, column.length)
}

/** Reading of the rows of one query. */
interface PageReading {
  readonly db: Db
  readonly plan: QueryPlan
  readonly printing: RowPrinting
  /** SQL list without sizes in place of values */
  readonly select: string
  readonly turns: LargeReads | undefined
  readonly signal: AbortSignal | undefined
}

/** Prints the rows of a page: those with large values one by one, each when it is its turn. */
export async function* printPage(
  reading: PageReading,
  rows: readonly MatchRow[],
): AsyncGenerator<TableRow[]> {
  const slots = largeSlots(reading)
  let small: MatchRow[] = []
  for (const row of rows) {
    const found = largeValues(reading, row, slots)
    const large = found instanceof Promise ? await found : found // an await for each of a million rows is slow
    if (large.length === 0) {
      small.push(row)
      continue
    }
    if (small.length > 0) yield await printRows(reading.printing, small)
    small = []
    yield* printLarge(reading, row, large)
  }
  if (small.length > 0) yield await printRows(reading.printing, small)
}

/** Positions in a row of the values that may be large, and of files. */
interface LargeSlots {
  readonly values: readonly { at: number; name: string }[]
  readonly files: readonly { at: number; name: string }[]
}

function largeSlots({ plan, printing }: PageReading): LargeSlots {
  const columns = [plan.table.columnByName.get('location'), ...plan.columns]
  const slots = columns.flatMap((column, at) =>
    // no test: every table has a location
    column === undefined ? [] : [{ at: at + 1, name: column.name, column }],
  )
  const hasSizes = printing.options.sizeOfFile !== undefined
  return {
    values: slots.filter(({ column }) => isLargeColumn(column)),
    files: hasSizes ? slots.filter(({ column }) => column.file !== null) : [],
  }
}

const NONE: readonly LargeValue[] = []

/** Returns the large values of a row, a promise of them when it has files. */
function largeValues(
  { printing }: PageReading,
  row: MatchRow,
  { values, files }: LargeSlots,
): readonly LargeValue[] | Promise<readonly LargeValue[]> {
  let large = NONE
  for (const { at, name } of values) {
    const value = row[at] as Stored
    if (typeof value === 'bigint') large = [...large, { name, bytes: Number(value) }]
  }
  const stored = files.filter(({ at }) => row[at] !== null)
  if (stored.length === 0) return large
  const sizes = stored.map(async ({ at, name }) => ({
    name,
    // no test: `largeSlots` names no files without `sizeOfFile`
    bytes: (await printing.options.sizeOfFile?.(String(row[at]))) ?? 0,
  }))
  return Promise.all(sizes).then((all) => [...large, ...all.filter(({ bytes }) => bytes > LARGE_BYTES)])
}

async function* printLarge(
  { db, plan, printing, select, turns, signal }: PageReading,
  [id]: MatchRow,
  large: readonly LargeValue[],
): AsyncGenerator<TableRow[]> {
  const bytes = requireReadable(db, large)
  const end = await turns?.take(bytes, signal)
  try {
    const sql = byIdsSql({ ...plan, where: '1' }, select)
    const read = db.prepare<unknown[], MatchRow>(sql).raw().safeIntegers()
    const rows = read.all(JSON.stringify([Number(id)]))
    if (rows.length > 0) yield* handOver(await printRows(printing, rows)) // none: it was removed meanwhile
  } finally {
    end?.()
  }
}
