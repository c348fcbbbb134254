import { type Caller, isAllowed } from '../auth/caller.js'
import { messageOf } from '../errors.js'
import { definitionDigest, sentDefinition, type TableAnswer } from '../feeds/batch/definition.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import { emptyBatch } from '../feeds/give/giver.js'
import { requireReadable } from '../feeds/receive/rights.js'
import { keyText } from '../feeds/send/collect.js'
import { requireSendable } from '../feeds/send/sendable.js'
import type { CollectDeps, Session } from '../feeds/send/sender-deps.js'
import type { BundledFeed } from '../storage/exchange/bundles.js'
import type { AskedFeed, AskedFeeds, FeedIdentity, ToldCursor } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { LoaderTable } from '../storage/tables.js'
import { partLine } from './content/parts.js'
import { noteFeed, packBatches } from './pack-batches.js'
import { type Budget, type PackedFeeds, spend } from './packed.js'

/** Dependencies of packing what other nodes ask for. */
export interface PackGivenDeps extends CollectDeps {
  readonly asked: AskedFeeds
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch'>
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** Returns the caller of a key; undefined for one that was revoked or has ended. */
  callerOf(keyId: string): Promise<Caller | undefined>
}

/**
 * Packs the feeds that a node asked for over the network: what this node tells of each table, then its batches.
 *
 * @param before what the last bundle held, to go on after it; empty to begin where the node is known to be
 */
export async function* packGiven(
  deps: PackGivenDeps,
  peer: NodePeer,
  { before, budget, packed }: { before: readonly BundledFeed[]; budget: Budget; packed: PackedFeeds },
): AsyncGenerator<Uint8Array> {
  for (const { keyId, feed, told } of await deps.asked.ofNode(peer.nodeId)) {
    const caller = await deps.callerOf(keyId)
    if (caller === undefined || !isAllowed(caller.scopes, 'sync:read')) continue // it asks with another key now
    const table = await deps.findTable(feed.dataName)
    if (table === undefined) continue // dropped: the node asks again when it is back
    try {
      await requireReadable(deps.asked, caller, feed.dataName)
      requireSendable(table, feed.columns)
    } catch (error) {
      packed.refused.push(`${feed.dataName}: ${messageOf(error)}`)
      continue
    }
    yield* packOne(deps, { feed, told, table }, { before, budget, packed })
  }
}

async function* packOne(
  deps: PackGivenDeps,
  { feed, told, table }: { feed: AskedFeed; told: ToldCursor | null; table: LoaderTable },
  { before, budget, packed }: { before: readonly BundledFeed[]; budget: Budget; packed: PackedFeeds },
): AsyncGenerator<Uint8Array> {
  const { feedId, columns, start, node } = feed
  const [tableUuid = '', epoch, last] = [
    await deps.identity.tableUuid(table),
    await deps.identity.epoch(),
    await deps.changes.last(table),
  ]
  const isSame = (one: { table: string; epoch: number } | null | undefined) =>
    one?.table === tableUuid && one.epoch === epoch
  const first = start.tableUuid === tableUuid ? Math.min(start.afterChange, last) : 0
  const known = told !== null && isSame(told) ? Math.min(told.cursor, last) : first
  const earlier = before.find((one) => one.feed === feedId && isSame(one))
  const cursor = Math.max(known, earlier?.last ?? 0)
  const definition = sentDefinition(table, columns)
  const session: Session = {
    ...{ peer: node, tableUuid, tableId: table.tableId, epoch, digest: definitionDigest(definition) },
    ...{ cursor, scanned: cursor },
  }
  const answer: TableAnswer = { node: deps.nodeId, table: tableUuid, epoch, definition, start, last }
  const begin = spend(budget, partLine('given', { feed: feedId, answer }))
  if (begin === undefined) return void packed.cut.push(feed.dataName)
  yield begin
  const tooLarge: Buffer[] = []
  const reason = `found a row of more than ${MAX_BATCH_BYTES} bytes, the most that a batch holds`
  let isCut = yield* packBatches(
    ...[deps, { record: feed, table, session, aside: new Set<number>(), last }, { budget, packed }],
    async (row) => {
      tooLarge.push(partLine('aside', { feed: feedId, change: row.change, key: keyText(table, row), reason }))
    },
  )
  if (!isCut && session.scanned > session.cursor) {
    // moves the cursor over changes that the feed leaves out
    const body = await emptyBatch(deps, feed, table, session)
    const head = { feed: feedId, after: session.cursor, last: session.scanned, changes: [] }
    const part = spend(budget, Buffer.concat([partLine('batch', head, body.byteLength), body]))
    if (part === undefined) isCut = true
    else {
      yield part
      session.cursor = session.scanned
    }
  }
  for (const part of tooLarge) if (spend(budget, part) !== undefined) yield part
  noteFeed(packed, feed, { session, after: cursor, isCut })
}
