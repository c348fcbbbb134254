import { AppError } from '../../errors.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import type { ReceivedSums } from '../../storage/exchange/table-digests.js'
import { definitionDigest, type TableAnswer } from '../batch/definition.js'
import { type FeedLink, refusalName } from '../send/link.js'
import { compareSums } from './compare.js'
import type { Verification, VerifyDeps } from './deps.js'
import { countAll } from './sums.js'

/** Longest time for which a comparison waits until this node has everything, ms. */
const WAIT_MS = 20_000
/** Time between the first two questions to the upstream, and most between later ones, ms: each costs a read there. */
const ASK_MS = 250
const MAX_ASK_MS = 4000
/** Time between two looks at the cursor here, ms. */
const LOOK_MS = 5

/** Question for what an upstream gives. */
interface SumsAsked {
  /** the upstream counts its rows again first */
  readonly isRecount?: boolean
  /** change up to which this node has the rows */
  readonly after?: number | undefined
}

/** Sums that the upstream gives, of one state of its table. */
type Given = TableAnswer & Required<Pick<TableAnswer, 'sums'>> & Pick<SumsAsked, 'after'>

/**
 * Compares what a feed down has brought here with what its upstream gives: one question when everything is here, even where
 * the feed leaves out the newest changes there and its cursor stays before them. A table that is written there meanwhile is
 * compared in a state that this node has reached.
 *
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED; FEED_BEHIND when rows are missing that did not come yet
 */
export async function compareDown(
  deps: VerifyDeps,
  first: FeedRecord,
  { link, isRecount }: { link: FeedLink; isRecount: boolean },
  signal: AbortSignal,
): Promise<Verification> {
  const endsAtMs = deps.nowMs() + WAIT_MS
  let recounts = isRecount
  let askMs = ASK_MS
  let after = (await deps.progress(first.feedId))?.cursor
  for (let record: FeedRecord | undefined = first; ; record = await deps.findFeed(first.feedId)) {
    if (record === undefined) throw behind(first, 'it was removed')
    const given = await askSums(deps, link, record, { isRecount: recounts, after }, signal)
    // once: an upstream that is still counting would begin again with each question
    if (recounts && record.start.tableUuid !== '') {
      await recountHere(deps, record)
      recounts = false
    }
    if (given !== undefined) {
      const found = await reach(deps, record, given, deps.nowMs() + askMs, signal)
      if (found !== undefined && hasAll(found, given)) {
        const differences = compareSums(found.days, given.sums, {
          nodeId: deps.nodeId,
          receiver: deps.nodeId,
        })
        return { isEqual: differences.days.length === 0, ...differences }
      }
      after = found?.cursor
    }
    const stopped = (await deps.progress(record.feedId))?.stopped ?? null
    if (stopped !== null) throw behind(record, `the feed has stopped: ${stopped}`)
    if (!record.isEnabled || deps.nowMs() > endsAtMs) throw behind(record, 'it waits for rows')
    // where rows come all the time, the next question may meet a state that is here
    if (given === undefined) await deps.pause(ASK_MS, signal)
    askMs = Math.min(2 * askMs, MAX_ASK_MS)
  }
}

/**
 * Asks the upstream what it gives.
 *
 * @returns undefined before the feed has begun, or when the upstream has another table than the feed knows
 */
export async function askSums(
  { nodeId }: Pick<VerifyDeps, 'nodeId'>,
  link: FeedLink,
  { feedId: feed, dataName: table, columns, conds, from, start }: FeedRecord,
  { isRecount = false, after }: SumsAsked,
  signal: AbortSignal,
): Promise<Given | undefined> {
  if (start.tableUuid === '') return undefined
  const sums = isRecount ? ('recount' as const) : ('kept' as const)
  const asked = {
    node: nodeId,
    feed,
    table,
    columns,
    conds,
    start,
    sums,
    ...(after === undefined ? {} : { after }),
  }
  try {
    const answer = await link.ask(
      { ...asked, from: start.fromUs ?? (from === 'now' ? 'now' : 'all') },
      signal,
    )
    const { sums: found } = answer
    if (found !== undefined) return { ...answer, sums: found, after }
  } catch (error) {
    if (refusalName(error) !== 'BUSY') throw error
    return undefined
  }
  const message = 'The upstream answered no sums, expected those of a gateway of this version or a later one'
  throw new AppError('UPSTREAM_REFUSED', {}, { message })
}

async function recountHere({ digests, findTable }: VerifyDeps, { dataName }: FeedRecord): Promise<void> {
  const table = await findTable(dataName)
  if (table !== undefined) await digests.restart(table)
}

/**
 * Waits until this node has the state that the upstream has told, is beyond it, or cannot come to it.
 *
 * @returns what is here then; undefined for that of an earlier table, or of none
 */
async function reach(
  deps: VerifyDeps,
  record: FeedRecord,
  given: Given,
  endsAtMs: number,
  signal: AbortSignal,
): Promise<ReceivedSums | undefined> {
  for (;;) {
    const found = await look(deps, record, given)
    if (found?.isWhole === false) {
      await countAll(deps, found.table, signal)
      continue
    }
    if (found !== undefined && (hasAll(found, given) || found.cursor > given.last)) return found
    const isStopped = ((await deps.progress(record.feedId))?.stopped ?? null) !== null
    if (isStopped || !record.isEnabled || deps.nowMs() > endsAtMs) return found
    await deps.pause(LOOK_MS, signal)
  }
}

/** True for a cursor after which the feed gives no row up to the state that the upstream has told. */
function hasAll({ cursor }: ReceivedSums, { last, scanned, after = 0 }: Given): boolean {
  return cursor === last || (scanned === last && cursor >= after && cursor < last)
}

/** Reads what the feed has brought here. @returns undefined for that of an earlier table, or of none */
async function look(
  { digests }: VerifyDeps,
  { feedId }: FeedRecord,
  { node, table, epoch, definition, sums }: Given,
): Promise<ReceivedSums | undefined> {
  const origins = [...new Set([node, ...sums.map(({ origin }) => origin)])]
  const found = await digests.received(node, feedId, origins)
  const isSame =
    found?.senderTable === table && found.epoch === epoch && found.digest === definitionDigest(definition)
  return isSame ? found : undefined
}

function behind({ dataName, feedId }: FeedRecord, why: string): AppError {
  const message = `Found rows of ${dataName} at the upstream that are not here yet (${why}), expected none`
  return new AppError('FEED_BEHIND', { feed: feedId }, { message })
}
