import { type Caller, isAllowed } from '../auth/caller.js'
import { AppError, type ErrorName, messageOf } from '../errors.js'
import type { TableOffer } from '../feeds/batch/definition.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import type { FeedReceiver } from '../feeds/receive/receiver.js'
import type { BundleRows } from '../storage/exchange/bundles.js'
import type { FeedInbox } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { TableDefinition } from '../storage/tables.js'
import { bodyOf, type Part } from './content/parts.js'
import { BatchHead, readAs } from './schema.js'

/** Dependencies of taking feeds. */
export interface ApplyFeedsDeps {
  /** Returns the receiver of the feeds of a node; it takes overlaps. */
  receiverOf(node: NodePeer): FeedReceiver
  /** Returns the rights of a node: those of its key, or those that it was given here; why not for one without. */
  rightsOf(node: NodePeer): Promise<Caller | { readonly refused: string }>
  /** Checks an offer. @throws AppError INVALID_PARAMS, TABLE_NOT_SENDABLE */
  readOffer(json: unknown): { offer: TableOffer; columns: TableDefinition }
  readonly inbox: Pick<FeedInbox, 'find'>
  readonly bundles: Pick<BundleRows, 'noteGap' | 'noteRefused'>
}

/** Result of a feed in a bundle. */
export interface FeedResult {
  readonly feed: string
  /** table, or long form of a citation */
  readonly table: string
  /** rows that were put or overridden */
  readonly written: number
  /** batches that were taken */
  readonly batches: number
  /** batches that were here before */
  readonly known: number
  /** why the rest is kept out; null when nothing is */
  readonly keptOut: string | null
}

/** Takes the feeds of a bundle, part by part. */
export interface FeedTaker {
  /** Begins a feed. */
  open(offer: unknown): Promise<void>
  /** Takes a batch of the feed that was opened last. */
  take(part: Part): Promise<void>
  /** Ends the last feed. @returns what became of each */
  end(): Promise<FeedResult[]>
}

/** Refusals that concern one feed: the others go on. */
export const OF_FEED = new Set<ErrorName>([
  ...([
    'TABLE_DIFFERS',
    'STALE_EPOCH',
    'LOOP',
    'FORBIDDEN',
    'BAD_BATCH',
    'BAD_RECORD',
    'UNKNOWN_FEED',
  ] as const),
  ...([
    'INVALID_PARAMS',
    'CITATION_DIFFERS',
    'RECORD_EXISTS',
    'TABLE_NOT_SENDABLE',
    'ALREADY_REGISTERED',
    'CURSOR_MISMATCH',
  ] as const),
])
/** Tries of a batch whose cursor another program moves; then the next bundle brings it. */
const MAX_TRIES = 5

/** A feed that is being taken. */
interface OpenFeed {
  offer: TableOffer | undefined
  cursor: number
  written: number
  batches: number
  known: number
  keptOut: string | null
  /** the receiver must begin earlier */
  gap: number | null
}

/** Begins to take the feeds of a bundle. @param of `isOld` for a bundle that was written before one that was taken */
export function takeFeeds(
  deps: ApplyFeedsDeps,
  node: NodePeer,
  of: { bundleId: string; isOld: boolean; caller: Caller },
): FeedTaker {
  const feeds: OpenFeed[] = []
  const receiver = deps.receiverOf(node)
  const { caller } = of
  /** Runs a step of the last feed; a refusal that concerns it alone keeps it out. */
  const step = async (feed: OpenFeed, work: () => Promise<void>) => {
    if (feed.keptOut !== null) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof AppError) || !OF_FEED.has(error.errorName)) throw error
      feed.keptOut = messageOf(error)
    }
  }
  return {
    async open(json) {
      const feed: OpenFeed = {
        offer: undefined,
        cursor: 0,
        written: 0,
        batches: 0,
        known: 0,
        keptOut: null,
        gap: null,
      }
      feeds.push(feed)
      await step(feed, async () => {
        const { offer, columns } = deps.readOffer(json)
        feed.offer = offer
        if (offer.node !== node.nodeId) throw forbidden(offer.node, node)
        if (!isAllowed(caller.scopes, 'sync:write')) throw noScope(node)
        if (of.isOld && (await isOtherTable(deps, offer))) {
          feed.keptOut =
            'the bundle is older than another one that was applied, and its table was dropped since'
          return
        }
        feed.cursor = (await receiver.offer(caller, offer, columns)).cursor
      })
    },
    async take(part) {
      const feed = feeds.at(-1)
      if (feed === undefined || feed.keptOut !== null) return // what is not read is passed over
      await step(feed, () => takeBatch(deps, { receiver, caller, node }, feed, part))
    },
    async end() {
      for (const { offer, gap } of feeds)
        if (offer !== undefined)
          await deps.bundles.noteGap(
            ...[node.nodeId, offer.feed],
            gap === null ? null : { feed: offer.feed, bundle: of.bundleId, cursor: gap },
          )
      return feeds.map(({ offer, written, batches, known, keptOut }) => ({
        ...{
          feed: offer?.feed ?? '',
          table: offer?.definition.data_name ?? '',
          written,
          batches,
          known,
          keptOut,
        },
      }))
    },
  }
}

/** The order of bundles is that in which they were written: an older one does not bring back a table. */
async function isOtherTable({ inbox }: ApplyFeedsDeps, { node, feed, table }: TableOffer): Promise<boolean> {
  const known = await inbox.find(node, feed)
  return known !== undefined && known.senderTable !== table
}

async function takeBatch(
  deps: ApplyFeedsDeps,
  { receiver, caller, node }: { receiver: FeedReceiver; caller: Caller; node: NodePeer },
  feed: OpenFeed,
  part: Part,
): Promise<void> {
  const head = readAs(BatchHead, part.head, 'batch')
  const { offer } = feed
  if (offer === undefined || head.feed !== offer.feed)
    throw badBatch(`found a batch of the feed ${head.feed}, expected one of ${offer?.feed ?? 'none'}`)
  if (head.last <= feed.cursor) return void feed.known++
  const body = await bodyOf(part, MAX_BATCH_BYTES)
  for (let tries = 1; tries <= MAX_TRIES && head.last > feed.cursor; tries++) {
    if (head.after > feed.cursor) return noteGap(feed, head)
    try {
      const { cursor, written } = await receiver.take(caller, offer.table, body)
      feed.cursor = cursor
      feed.written += written
      feed.batches++
      return
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.errorName === 'BAD_RECORD') await noteRefused(deps, node, offer, { head, error })
      feed.cursor = movedCursor(error)
    }
  }
  feed.known++
}

/** Returns the cursor that another program has moved. @throws the error, when it is another one */
export function movedCursor(error: AppError): number {
  const { cursor } = error.data
  if (error.errorName === 'CURSOR_MISMATCH' && typeof cursor === 'number') return cursor
  throw error
}

function noteGap(feed: OpenFeed, { after }: { after: number }): void {
  feed.gap = feed.cursor
  feed.keptOut =
    `it begins after change ${after}, but only the changes up to ${feed.cursor} are here: ` +
    'apply the bundle before it first, or send one back, and the next one begins there'
}

/** Notes the rows that the sender will set aside when it reads the next bundle from here. */
async function noteRefused(
  { bundles }: ApplyFeedsDeps,
  { nodeId }: NodePeer,
  { feed, table, epoch }: TableOffer,
  { head, error }: { head: { changes: [number, number][] }; error: AppError },
): Promise<void> {
  const rows = (error.data.rows ?? []) as { index: number; reason: string }[] // the receiver made them
  const refused = rows.flatMap(({ index, reason }) => {
    const change = changeAt(head.changes, index)
    return change === undefined ? [] : [{ feed, table, epoch, change, reason: reason.slice(0, 1000) }]
  })
  await bundles.noteRefused(nodeId, refused)
}

/** Returns the change number of a row of a batch. */
function changeAt(runs: readonly [number, number][], index: number): number | undefined {
  let at = 0
  for (const [first, count] of runs) {
    if (index < at + count) return first + index - at
    at += count
  }
  return undefined
}

function forbidden(found: string, { name, nodeId }: NodePeer): AppError {
  const message = `found the node ${found}, expected ${nodeId}, whose bundle it is (${name})`
  return new AppError('FORBIDDEN', {}, { message })
}

/** Makes the error for a node that may send no feeds. */
export function noScope({ name }: NodePeer): AppError {
  const message = `the key of ${name} lacks the scope sync:write`
  return new AppError('FORBIDDEN', { scope: 'sync:write' }, { message })
}

function badBatch(reason: string): AppError {
  return new AppError('BAD_BATCH', { reason }, { message: `The batch cannot be read: ${reason}` })
}
