import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import { addDigest, createRowDigest, noRows } from '../../storage/exchange/row-digest.js'
import type { DaySum, TableDigests } from '../../storage/exchange/table-digests.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import { type FeedScope, sentNames } from '../send/scope.js'

/** Sums of what a feed sends, of one state of its table. */
export interface FeedSums {
  /** number of the last change in the table */
  readonly last: number
  readonly days: readonly DaySum[]
}

/** Sources of sums. */
export interface SumsDeps {
  readonly digests: TableDigests
  readonly changes: TableChanges
  /** for conditions */
  env(): ValueEnv
}

/** Rows that are counted in one write, or read at a time: 1,000 take 5 ms. */
const PART_ROWS = 1000
/** Readings of a part of a table that is written meanwhile. */
const MAX_READINGS = 5

/** Counts the rows of a table that are left, in turns with all other work. */
export async function countAll(
  { digests }: Pick<SumsDeps, 'digests'>,
  table: LoaderTable,
  signal: AbortSignal,
): Promise<void> {
  await digests.begin(table)
  while (!(await digests.count(table, PART_ROWS))) {
    signal.throwIfAborted()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Reads the sums of a whole table, which are kept with each write. */
export async function keptSums(deps: SumsDeps, table: LoaderTable, signal: AbortSignal): Promise<FeedSums> {
  for (;;) {
    const sums = await deps.digests.read(table, null)
    if (sums?.isWhole === true) return sums
    await countAll(deps, table, signal)
  }
}

/**
 * Reads the sums of a part of a table from its rows. Cost: 5 µs a row.
 *
 * @returns undefined when the table is written as fast as it is read
 */
export async function scannedSums(
  deps: SumsDeps,
  record: Pick<FeedRecord, 'conds' | 'columns'>,
  { table, scope }: { table: LoaderTable; scope: FeedScope },
  signal: AbortSignal,
): Promise<FeedSums | undefined> {
  for (let reading = 0; reading < MAX_READINGS; reading++) {
    const last = await deps.changes.last(table)
    const days = withRemoved(
      await scan(deps, record, { table, scope }, signal),
      await deps.digests.removed(table),
    )
    if ((await deps.changes.last(table)) === last) return { last, days }
  }
  return undefined
}

/** Adds how many rows of a table are gone; whether the feed had sent them is not known any more. */
function withRemoved(
  days: readonly DaySum[],
  removed: Awaited<ReturnType<TableDigests['removed']>>,
): DaySum[] {
  const all = new Map(days.map((day) => [`${day.day} ${day.origin}`, day]))
  for (const { origin, day, removed: rows } of removed) {
    const known = all.get(`${day} ${origin}`) ?? { origin, day, sum: noRows() }
    all.set(`${day} ${origin}`, { ...known, removed: rows })
  }
  return [...all.values()]
}

async function scan(
  { changes, env }: SumsDeps,
  record: Pick<FeedRecord, 'conds' | 'columns'>,
  { table, scope }: { table: LoaderTable; scope: FeedScope },
  signal: AbortSignal,
): Promise<DaySum[]> {
  const digest = createRowDigest(table.columns, sentNames(record, table))
  const sums = new Map<string, DaySum>()
  const filter = { conds: record.conds, env: env(), backlog: scope.backlog }
  for (let after = scope.afterChange; ; ) {
    signal.throwIfAborted()
    const { rows, until } = await changes.matching(table, after, PART_ROWS, filter)
    for (const { origin, day, values } of rows) {
      const key = `${day} ${origin}`
      const known = sums.get(key) ?? { origin, day, sum: noRows(), removed: 0 }
      sums.set(key, known)
      addDigest(known.sum, digest(values))
    }
    if (until === after) return [...sums.values()]
    after = until
    await new Promise((resolve) => setImmediate(resolve))
  }
}
