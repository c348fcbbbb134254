import { AppError } from '../../errors.js'
import type { Stored } from '../columns/column-type.js'
import type { ThinRule } from '../retention.js'
import { ROW_COUNT, type SummaryColumns } from '../summary-table.js'
import type { LoaderTable } from '../tables.js'
import { slotOf, type ThinnedRow } from './thin-pass.js'

/** Numbers of a column within an interval. */
interface Numbers {
  count: number
  sum: number
  min: number
  max: number
}

/** Rows of a series within an interval. */
export interface Interval {
  readonly key: readonly Stored[]
  readonly startUs: bigint
  rows: number
  readonly numbers: readonly Numbers[]
  /** location of the last row that has one */
  location: Uint8Array | null
}

/** Stored values of a summary's row: count of rows, location, then count, minimum, mean and maximum of each number column. */
export type KnownInterval = readonly [
  rows: number,
  location: Uint8Array | null,
  ...numbers: (number | null)[],
]

/** Returns the columns of a summary that `withKnown` reads, in its order; null for those that it has not. */
export function knownColumns(summary: LoaderTable, columns: readonly SummaryColumns[]): (string | null)[] {
  // columns that were added to the table since have none in the summary
  const names = columns.flatMap(({ count, min, mean, max }) => [count, min, mean, max])
  return names.map((name) => (summary.columnByName.has(name) ? name : null))
}

/** Error of a summary that is not there. */
export function unknownSummary({ dataName }: LoaderTable, into: string): AppError {
  const message = `No table has the name ${into}, into which rows of ${dataName} are summarised`
  return new AppError('UNKNOWN_TABLE', { data_name: into }, { message })
}

/** Sums rows by series and interval. @param columns number columns of the table */
export function intervalsOf(rows: readonly ThinnedRow[], rule: ThinRule, columns: number): Interval[] {
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
  return [...intervals.values()]
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

/** Adds the row that a summary has of an interval. */
export function withKnown(interval: Interval, known: KnownInterval | undefined): Interval {
  if (known === undefined) return interval
  const [rows, location, ...numbers] = known
  interval.rows += rows
  interval.location = location ?? interval.location
  for (const [at, into] of interval.numbers.entries()) {
    const [count, min, mean, max] = numbers.slice(at * 4, at * 4 + 4)
    if (!count || min == null || mean == null || max == null) continue
    into.count += count
    into.sum += mean * count
    into.min = Math.min(into.min, min)
    into.max = Math.max(into.max, max)
  }
  return interval
}

/** Returns the stored values of the row of an interval, in the order of the columns of the summary. */
export function valuesOf(
  summary: LoaderTable,
  { rule, columns }: { rule: ThinRule; columns: readonly SummaryColumns[] },
  { key, startUs, rows, numbers, location }: Interval,
): { values: Stored[]; startUs: bigint; endUs: bigint } {
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
  return { values: summary.columns.map(({ name }) => values.get(name) ?? null), startUs, endUs }
}
