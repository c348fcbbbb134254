import { AppError } from '../../errors.js'
import type { AskedFeed } from '../../storage/exchange/feeds.js'
import { sumHex } from '../../storage/exchange/row-digest.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { SentSum } from '../batch/definition.js'
import { isKnownTo } from '../send/collect.js'
import { type FeedScope, scopeOf } from '../send/scope.js'
import { type FeedSums, keptSums, type SumsDeps, scannedSums } from '../verify/sums.js'

/** Dependencies of the sums of what a node gives. */
export interface GivenSumsDeps extends SumsDeps {
  /** UUID of this node */
  readonly nodeId: string
  /** fires when the other node has waited long enough */
  sumsLimit(): AbortSignal
}

/** Question for the sums of what a feed gives. */
export interface SumsQuestion {
  /** all rows are counted again first, instead of trusting what was kept with each write */
  readonly isRecount: boolean
  /** change up to which the node that asks has the rows; absent where it does not tell */
  readonly after?: number | undefined
}

/** Sums of what a feed gives, of one state of its table. */
export interface GivenSums {
  /** number of the last change in the table */
  readonly last: number
  readonly sums: readonly SentSum[]
  /** change up to which the feed gives no row after the one that was asked about; absent where none was */
  readonly scanned?: number
}

/**
 * Returns the sums of what a feed gives, without rows of the node that asks. Cost: one read of kept sums for a whole table,
 * 5 µs a row for a part of one; and a read of the changes that the feed leaves out after those that the asker has.
 *
 * @throws AppError BUSY while the rows are counted, or are written as fast as they are read
 */
export async function givenSums(
  deps: GivenSumsDeps,
  feed: AskedFeed,
  { table, tableUuid }: { table: LoaderTable; tableUuid: string },
  question: SumsQuestion,
  signal: AbortSignal,
): Promise<GivenSums> {
  const limit = deps.sumsLimit()
  const ended = AbortSignal.any([signal, limit])
  const found = await read(deps, feed, { table, tableUuid }, question, ended).catch((error: unknown) => {
    if (limit.aborted && !signal.aborted) return undefined
    throw error
  })
  if (found === undefined) {
    const message = `The rows of ${table.dataName} are being counted, or are written as fast as they are read`
    throw new AppError('BUSY', { retryAfterS: 5 }, { message })
  }
  const sums = found.days.flatMap(({ origin: name, day, sum, removed }) => {
    if (name === feed.node) return []
    const origin = name === '' ? deps.nodeId : name
    const given = { origin, day, rows: sum.rows, digest: sumHex(sum) }
    return [removed === 0 ? given : { ...given, removed }]
  })
  const { last, scanned } = found
  return scanned === undefined ? { last, sums } : { last, sums, scanned }
}

async function read(
  deps: GivenSumsDeps,
  feed: AskedFeed,
  { table, tableUuid }: { table: LoaderTable; tableUuid: string },
  { isRecount, after }: SumsQuestion,
  signal: AbortSignal,
): Promise<(FeedSums & { scanned: number | undefined }) | undefined> {
  const scope = scopeOf(feed, table, tableUuid)
  if (scope.isWhole && isRecount) await deps.digests.restart(table)
  // before the sums: a row that is written after this look makes `last` another number than `scanned`
  const scanned =
    after === undefined ? undefined : await lookAhead(deps, feed, { table, scope }, after, signal)
  const found = scope.isWhole
    ? await keptSums(deps, table, signal)
    : await scannedSums(deps, feed, { table, scope }, signal)
  return found === undefined ? undefined : { ...found, scanned }
}

/** Changes that are read at a time, so that the event loop turns between. */
const PAGE_ROWS = 250

/** Returns the change up to which a feed gives no row after another. */
async function lookAhead(
  { changes, env }: GivenSumsDeps,
  { node, conds }: AskedFeed,
  { table, scope: { backlog } }: { table: LoaderTable; scope: FeedScope },
  after: number,
  signal: AbortSignal,
): Promise<number> {
  const filter = { conds, env: env(), backlog }
  for (let scanned = after; ; ) {
    signal.throwIfAborted()
    const { rows, until } = await changes.matching(table, scanned, PAGE_ROWS, filter)
    if (until === scanned || rows.some((row) => !isKnownTo(node, row))) return scanned
    scanned = until
    await new Promise((resolve) => setImmediate(resolve))
  }
}
