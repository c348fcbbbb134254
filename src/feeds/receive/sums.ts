import { type Caller, isAllowed } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import type { FeedSenders, SenderState } from '../../storage/exchange/feeds.js'
import { sumHex } from '../../storage/exchange/row-digest.js'
import type { ReceivedSums, TableDigests } from '../../storage/exchange/table-digests.js'
import type { SentSum } from '../batch/definition.js'
import { lacksRelay, requireNode, unknownFeed } from './rights.js'

/** Question of a node for the sums of a table that it sends. */
export interface SumsQuestion extends SenderState {
  /** UUIDs of the nodes whose rows are asked for */
  readonly origins: readonly string[]
  /** all rows are counted again before the answer */
  readonly isRecount: boolean
}

/** Answers other nodes that compare their tables with those here. */
export interface SumsAnswerer {
  /**
   * Returns what a feed of the caller has brought here, without rows of this node.
   *
   * @throws AppError UNKNOWN_FEED, FORBIDDEN, LOOP; BUSY while the rows are counted
   */
  answer(caller: Caller, question: SumsQuestion): Promise<{ node: string; cursor: number; sums: SentSum[] }>
}

interface AnswererDeps {
  readonly digests: TableDigests
  readonly senders: FeedSenders
  /** UUID of this node */
  readonly nodeId: string
  /** monotonic clock */
  nowMs(): number
}

/** Rows that are counted in one write. */
const PART_ROWS = 1000
/** Longest time for which a question waits for its rows to be counted, ms: most clients wait for 30 s. */
const COUNT_MS = 15_000

/** Creates the answerer of a gateway. */
export function createSumsAnswerer(deps: AnswererDeps): SumsAnswerer {
  const { digests, nodeId } = deps
  return {
    async answer(caller, question) {
      await requireNode(deps, caller, question.sender)
      requireOrigins(caller, question, nodeId)
      const origins = question.origins.filter((origin) => origin !== nodeId)
      const first = await find(digests, question, origins)
      if (question.isRecount) await digests.restart(first.table)
      const endsAtMs = deps.nowMs() + COUNT_MS
      for (;;) {
        const found = await find(digests, question, origins)
        if (found.isWhole) return { node: nodeId, cursor: found.cursor, sums: found.days.map(toSentSum) }
        if (deps.nowMs() > endsAtMs) throw await stillCounting(digests, found)
        while (!(await digests.count(found.table, PART_ROWS)) && deps.nowMs() <= endsAtMs)
          await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

/** @throws AppError UNKNOWN_FEED */
async function find(
  digests: TableDigests,
  { sender, feed, senderTable, epoch, digest }: SumsQuestion,
  origins: readonly string[],
): Promise<ReceivedSums> {
  const found = await digests.received(sender, feed, origins)
  const isSame = found?.senderTable === senderTable && found.epoch === epoch && found.digest === digest
  if (found === undefined || !isSame) throw unknownFeed(feed)
  return found
}

/** @throws AppError FORBIDDEN when the key may not send rows of other nodes, and so does not read them either */
function requireOrigins(caller: Caller, { sender, origins }: SumsQuestion, nodeId: string): void {
  if (isAllowed(caller.scopes, 'sync:relay')) return
  const other = origins.find((origin) => origin !== sender && origin !== nodeId)
  if (other !== undefined) throw lacksRelay(sender, other)
}

async function stillCounting(digests: TableDigests, { table }: ReceivedSums): Promise<AppError> {
  const left = (await digests.uncounted()).find(({ table: { tableId } }) => tableId === table.tableId)
  const percent = Math.floor((left?.share ?? 1) * 100)
  const message = `The rows of ${table.dataName} are being counted, ${percent} % done`
  return new AppError('BUSY', { retryAfterS: 5 }, { message })
}

function toSentSum({ origin, day, sum, removed }: ReceivedSums['days'][number]): SentSum {
  const sent = { origin, day, rows: sum.rows, digest: sumHex(sum) }
  return removed === 0 ? sent : { ...sent, removed }
}
