import { AppError } from '../../../errors.js'
import type { Stored } from '../../columns/column-type.js'
import { placeOf } from '../../records/place.js'
import type { ThinRule } from '../../retention.js'
import { ROW_COUNT, type SummaryColumns, summaryColumns } from '../../summary-table.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { findTable } from '../tables/catalog.js'
import { ROW_ORIGIN, tableSql } from '../tables/ddl.js'
import { MAX_SEGMENT_ROWS } from '../tables/segment-index.js'
import { createRowWriter } from '../tables/writer.js'
import { slotOf, type ThinAction, type ThinnedRow } from './thin-scan.js'

/** Numbers of a column within an interval. */
interface Numbers {
  count: number
  sum: number
  min: number
  max: number
}

/** Rows of a series within an interval. */
interface Interval {
  readonly key: readonly Stored[]
  readonly startUs: bigint
  rows: number
  readonly numbers: readonly Numbers[]
  /** location of the last row that has one */
  location: Uint8Array | null
}

/**
 * Creates the thinning that moves rows into a summary: one row for each series and interval, with count, minimum, mean and
 * maximum of each number column. Rows that come later are added to it. Rows of other nodes stay: each node summarises its own.
 *
 * @param table table that is thinned
 */
export function createInto(table: LoaderTable, rule: ThinRule, into: string): ThinAction {
  const columns = summaryColumns(table, rule.by)
  return {
    columns: ['location', ...columns.map(({ source }) => source)],
    restart: () => undefined,
    take(db, rows, nowUs) {
      const own = rows.filter(({ originId }) => originId === 0)
      if (own.length === 0) return []
      const summary = requireSummary(db, table, into)
      const known = findKnown(db, summary, { rule, columns })
      const writer = createRowWriter(db, summary, { ifExists: 'override' }, { timeZoneMin: 0, nowUs })
      for (const interval of intervalsOf(own, rule, columns.length).values())
        writer.put(rowOf(summary, rule, columns, withKnown(interval, known(interval))))
      writer.finish(MAX_SEGMENT_ROWS)
      return own.map(({ rowId }) => rowId)
    },
  }
}

function requireSummary(db: Db, { dataName }: LoaderTable, into: string): LoaderTable {
  const summary = findTable(db, into)
  if (summary !== undefined) return summary
  const message = `No table has the name ${into}, into which rows of ${dataName} are summarised`
  throw new AppError('UNKNOWN_TABLE', { data_name: into }, { message })
}

function intervalsOf(rows: readonly ThinnedRow[], rule: ThinRule, columns: number): Map<string, Interval> {
  const intervals = new Map<string, Interval>()
  for (const { atUs, series, key, values } of rows) {
    const startUs = slotOf(atUs, rule)
    const name = `${startUs} ${series}`
    const known = intervals.get(name)
    const interval = known ?? { key, startUs, rows: 0, numbers: noNumbers(columns), location: null }
    intervals.set(name, interval)
    const [location, ...numbers] = values
    interval.rows++
    if (location instanceof Uint8Array) interval.location = location
    for (const [at, value] of numbers.entries()) addNumber(interval.numbers[at], value)
  }
  return intervals
}

function noNumbers(columns: number): Numbers[] {
  return Array.from({ length: columns }, () => ({ count: 0, sum: 0, min: Infinity, max: -Infinity }))
}

function addNumber(into: Numbers | undefined, value: Stored): void {
  if (into === undefined || (typeof value !== 'number' && typeof value !== 'bigint')) return
  const number = Number(value)
  into.count++
  into.sum += number
  into.min = Math.min(into.min, number)
  into.max = Math.max(into.max, number)
}

type Known = [rows: number, location: Uint8Array | null, ...numbers: (number | null)[]]

/** Prepares the search for the row of a summary that an interval has already. */
function findKnown(
  db: Db,
  summary: LoaderTable,
  { rule, columns }: { rule: ThinRule; columns: readonly SummaryColumns[] },
): (interval: Interval) => Known | undefined {
  // columns that were added to the table since have none in the summary
  const names = columns.flatMap(({ count, min, mean, max }) =>
    [count, min, mean, max].map((name) => (summary.columnByName.has(name) ? identifier(name) : 'NULL')),
  )
  const isKey = [...rule.by, 'start_datetime'].map((name) => `${identifier(name)} IS ?`).join(' AND ')
  const find = statement<Known>(
    db,
    `SELECT ${[`coalesce(${ROW_COUNT}, 0)`, 'location', ...names].join(', ')} FROM ${tableSql(summary)}
     WHERE ${isKey} AND ${ROW_ORIGIN} = 0`,
  ).raw()
  return ({ key, startUs }) => find.get(...key, startUs)
}

/** Adds the row that a summary has of an interval. */
function withKnown(interval: Interval, known: Known | undefined): Interval {
  if (known === undefined) return interval
  const [rows, location, ...numbers] = known
  interval.rows += rows
  interval.location = location ?? interval.location
  for (const [at, into] of interval.numbers.entries()) {
    const [count, min, mean, max] = numbers.slice(at * 4, at * 4 + 4)
    if (!count || min === null || mean === null || max === null) continue
    into.count += count
    into.sum += (mean as number) * count
    into.min = Math.min(into.min, min as number)
    into.max = Math.max(into.max, max as number)
  }
  return interval
}

function rowOf(
  summary: LoaderTable,
  rule: ThinRule,
  columns: readonly SummaryColumns[],
  { key, startUs, rows, numbers, location }: Interval,
) {
  const endUs = startUs + BigInt(rule.intervalS) * 1_000_000n
  const values = new Map<string, Stored>([
    ...rule.by.map((name, at) => [name, key[at] as Stored] as const),
    ...([
      ['start_datetime', startUs],
      ['end_datetime', endUs],
      ['location', location],
    ] as const),
    [ROW_COUNT, BigInt(rows)],
  ])
  for (const [at, { count, min, mean, max }] of columns.entries()) {
    const found = numbers[at] as Numbers // one for each column
    values.set(count, BigInt(found.count))
    if (found.count === 0) continue
    values.set(min, found.min)
    values.set(mean, found.sum / found.count)
    values.set(max, found.max)
  }
  const [box] = placeOf({ location, start_datetime: startUs, end_datetime: endUs })
  const stored = summary.columns.map(({ name }) => values.get(name) ?? null)
  return { values: stored, box, startUs, endUs, files: [] }
}
