import { AppError, messageOf } from '../errors.js'
import type { TableAnswer } from '../feeds/batch/definition.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import { type AgreeDeps, agree } from '../feeds/fetch/agree.js'
import { type TakeDeps, takeBatch } from '../feeds/fetch/take.js'
import type { Session } from '../feeds/send/sender-deps.js'
import type { BundleRows } from '../storage/exchange/bundles.js'
import type { FeedRecord, FeedRows } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { LoaderTable } from '../storage/tables.js'
import { type FeedResult, movedCursor, OF_FEED } from './apply-feeds.js'
import { bodyOf, type Part } from './content/parts.js'
import { AsideHead, BatchHead, GivenHead, readAs } from './schema.js'

/** Dependencies of taking what was asked for. */
export interface ApplyGivenDeps {
  /** the batches take overlaps */
  readonly taking: AgreeDeps & TakeDeps
  readonly feeds: Pick<FeedRows, 'find' | 'list' | 'noteProgress' | 'setAside'>
  /** Checks what a node tells of a table. @throws AppError INVALID_PARAMS */
  readAnswer(json: unknown): TableAnswer
  readonly bundles: Pick<BundleRows, 'noteGap'>
}

/** Takes the feeds down of a bundle, part by part. */
export interface GivenTaker {
  /** Begins a feed. */
  open(part: Part): Promise<void>
  /** Takes a batch of the feed that was opened last. */
  take(part: Part): Promise<void>
  /** Sets aside a row of it that no batch holds. */
  setAside(part: Part): Promise<void>
  /** Ends the last feed. @returns what became of each */
  end(): Promise<FeedResult[]>
}

/** A feed that is being taken. */
interface OpenGiven extends FeedResult {
  written: number
  batches: number
  known: number
  keptOut: string | null
  at: { record: FeedRecord; session: Session; table: LoaderTable; last: number } | undefined
  gap: number | null
}

/** Tries of a batch whose cursor another program moves; then the next bundle brings it. */
const MAX_TRIES = 5

/** Begins to take the feeds down of a bundle. @param of `isOld` for a bundle that was written before one that was taken */
export function takeGiven(
  deps: ApplyGivenDeps,
  node: NodePeer,
  of: { bundleId: string; isOld: boolean },
): GivenTaker {
  const all: OpenGiven[] = []
  const step = async (one: OpenGiven, work: () => Promise<void>) => {
    if (one.keptOut !== null) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof AppError) || !OF_FEED.has(error.errorName)) throw error
      one.keptOut = messageOf(error)
    }
  }
  return {
    async open(part) {
      const { feed, answer } = readAs(GivenHead, part.head, 'given')
      const one: OpenGiven = {
        ...{ feed, table: '', written: 0, batches: 0, known: 0, keptOut: null, at: undefined, gap: null },
      }
      all.push(one)
      await step(one, async () => {
        const record = await deps.feeds.find(feed)
        if (record?.direction !== 'down' || record.upstream !== node.name) {
          one.keptOut = `found no feed down with this id here, expected one whose upstream is ${node.name}`
          return
        }
        Object.assign(one, { table: record.dataName })
        await openFeed(deps, node, one, { record, answer: deps.readAnswer(answer), isOld: of.isOld })
      })
    },
    async take(part) {
      const one = all.at(-1)
      if (one?.at === undefined || one.keptOut !== null) return // what is not read is passed over
      await step(one, () => takeOne(deps, one, part))
    },
    async setAside(part) {
      const { feed, change, key, reason } = readAs(AsideHead, part.head, 'aside')
      const one = all.at(-1)
      if (one?.at === undefined || one.feed !== feed || one.keptOut !== null) return
      await deps.feeds.setAside(feed, [{ change, rowKey: key, reason }])
    },
    async end() {
      for (const { at, feed, gap } of all) {
        if (at === undefined) continue
        const news = gap === null ? null : { feed, bundle: of.bundleId, cursor: gap }
        await deps.bundles.noteGap(node.nodeId, feed, news)
        await noteProgress(deps, at)
      }
      return all.map(({ at: _, gap: __, ...result }) => result)
    },
  }
}

async function openFeed(
  { taking }: ApplyGivenDeps,
  node: NodePeer,
  one: OpenGiven,
  { record, answer, isOld }: { record: FeedRecord; answer: TableAnswer; isOld: boolean },
): Promise<void> {
  if (answer.node !== node.nodeId) {
    const message = `found the node ${answer.node}, expected ${node.nodeId}, whose bundle it is (${node.name})`
    throw new AppError('FORBIDDEN', {}, { message })
  }
  const known = await taking.inbox.find(answer.node, record.feedId)
  if (isOld && known !== undefined && known.senderTable !== answer.table) {
    one.keptOut = 'the bundle is older than another one that was applied, and its table was dropped since'
    return
  }
  const session = await agree(taking, { record }, answer, { isLate: true })
  const table = await taking.findTable(record.dataName)
  if (table?.tableId !== session.tableId) return // dropped in this moment: the next bundle brings it
  one.at = { record, session, table, last: answer.last }
}

async function takeOne({ taking }: ApplyGivenDeps, one: OpenGiven, part: Part): Promise<void> {
  const head = readAs(BatchHead, part.head, 'batch')
  const { at } = one
  if (at === undefined || head.feed !== one.feed) return // no test: `take` has looked
  const { record, session, table } = at
  if (head.last <= session.cursor) return void one.known++
  const body = await bodyOf(part, MAX_BATCH_BYTES)
  for (let tries = 1; tries <= MAX_TRIES && head.last > session.cursor; tries++) {
    if (head.after > session.cursor) return noteGap(one, session.cursor, head.after)
    try {
      one.written += await takeBatch(taking, { record }, session, table, { body, onOpened: () => undefined })
      one.batches++
      return
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      session.cursor = movedCursor(error)
    }
  }
  one.known++
}

function noteGap(one: OpenGiven, cursor: number, after: number): void {
  one.gap = cursor
  one.keptOut =
    `it begins after change ${after}, but only the changes up to ${cursor} are here: ` +
    'apply the bundle before it first, or send one back, and the next one begins there'
}

/** Notes where the feed is; a gateway that runs beside this program reads it. */
async function noteProgress(
  { feeds }: ApplyGivenDeps,
  { record, session, last }: { record: FeedRecord; session: Session; last: number },
): Promise<void> {
  const { progress, feedId } = record
  const { tableUuid, epoch, cursor } = session
  const now = { tableUuid, epoch, cursor, scanned: cursor, lastError: null }
  const isNewer = progress.tableUuid !== tableUuid || progress.epoch !== epoch || cursor > progress.cursor
  if (!isNewer) return
  const upstreamLast = Math.max(
    last,
    cursor,
    progress.tableUuid === tableUuid ? (progress.upstreamLast ?? 0) : 0,
  )
  await feeds.noteProgress(feedId, { ...progress, ...now, upstreamLast })
}
