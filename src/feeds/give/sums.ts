import { AppError } from '../../errors.js'
import type { AskedFeed } from '../../storage/exchange/feeds.js'
import { sumHex } from '../../storage/exchange/row-digest.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { SentSum } from '../batch/definition.js'
import { scopeOf } from '../send/scope.js'
import { type FeedSums, keptSums, type SumsDeps, scannedSums } from '../verify/sums.js'

/** Dependencies of the sums of what a node gives. */
export interface GivenSumsDeps extends SumsDeps {
  /** UUID of this node */
  readonly nodeId: string
  /** fires when the other node has waited long enough */
  sumsLimit(): AbortSignal
}

/** Sums of what a feed gives, of one state of its table. */
export interface GivenSums {
  /** number of the last change in the table */
  readonly last: number
  readonly sums: readonly SentSum[]
}

/**
 * Returns the sums of what a feed gives, without rows of the node that asks. Cost: one read of kept sums for a whole table,
 * 5 µs a row for a part of one.
 *
 * @param isRecount all rows are counted again first, instead of trusting what was kept with each write
 * @throws AppError BUSY while the rows are counted, or are written as fast as they are read
 */
export async function givenSums(
  deps: GivenSumsDeps,
  feed: AskedFeed,
  { table, tableUuid }: { table: LoaderTable; tableUuid: string },
  isRecount: boolean,
  signal: AbortSignal,
): Promise<GivenSums> {
  const limit = deps.sumsLimit()
  const found = await read(
    deps,
    feed,
    { table, tableUuid },
    isRecount,
    AbortSignal.any([signal, limit]),
  ).catch((error: unknown) => {
    if (limit.aborted && !signal.aborted) return undefined
    throw error
  })
  if (found === undefined) {
    const message = `The rows of ${table.dataName} are being counted, or are written as fast as they are read`
    throw new AppError('BUSY', { retryAfterS: 5 }, { message })
  }
  const sums = found.days.flatMap(({ origin, day, sum }) => {
    if (origin === feed.node) return []
    return [{ origin: origin === '' ? deps.nodeId : origin, day, rows: sum.rows, digest: sumHex(sum) }]
  })
  return { last: found.last, sums }
}

async function read(
  deps: GivenSumsDeps,
  feed: AskedFeed,
  { table, tableUuid }: { table: LoaderTable; tableUuid: string },
  isRecount: boolean,
  signal: AbortSignal,
): Promise<FeedSums | undefined> {
  const scope = scopeOf(feed, table, tableUuid)
  if (!scope.isWhole) return await scannedSums(deps, feed, { table, scope }, signal)
  if (isRecount) await deps.digests.restart(table)
  return await keptSums(deps, table, signal)
}
