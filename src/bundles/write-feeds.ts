import { messageOf } from '../errors.js'
import { definitionDigest, sentDefinition } from '../feeds/batch/definition.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import { keyText } from '../feeds/send/collect.js'
import { requireSendable } from '../feeds/send/sendable.js'
import type { CollectDeps, Session } from '../feeds/send/sender-deps.js'
import type { BundledFeed } from '../storage/exchange/bundles.js'
import type { FeedIdentity, FeedRecord, FeedRows } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { ChangedRow, LoaderTable, TableChanges } from '../storage/tables.js'
import { partLine } from './content/parts.js'
import { noteFeed, packBatches } from './pack-batches.js'
import { type Budget, type PackedFeeds, spend } from './packed.js'
import { type PackCitationsDeps, packCitation } from './write-citations.js'

/** Dependencies of packing feeds. */
export interface PackFeedsDeps extends CollectDeps, PackCitationsDeps {
  readonly feeds: Pick<FeedRows, 'list' | 'setAside' | 'changesSetAside'>
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch'>
  readonly changes: TableChanges
  findTable(dataName: string): Promise<LoaderTable | undefined>
}

/**
 * Packs the feeds to a node: the offer of each table, then its batches, those of a higher priority first.
 *
 * @param before what the last bundle held, to go on after it; empty to begin where the receiver is known to be
 */
export async function* packFeeds(
  deps: PackFeedsDeps,
  peer: NodePeer,
  { before, budget, packed }: { before: readonly BundledFeed[]; budget: Budget; packed: PackedFeeds },
): AsyncGenerator<Uint8Array> {
  const all = (await deps.feeds.list()).filter(
    ({ upstream, isEnabled, direction }) => upstream === peer.name && isEnabled && direction === 'up',
  )
  for (const record of all.sort((a, b) => b.priority - a.priority)) {
    const { citation } = record.start
    if (citation !== undefined) {
      yield* packCitation(deps, { record, longForm: citation }, { before, budget, packed })
      continue
    }
    const table = await deps.findTable(record.dataName)
    if (table === undefined) continue // dropped: the feed goes on when it is registered again
    try {
      requireSendable(table, record.columns)
    } catch (error) {
      packed.refused.push(`${record.dataName}: ${messageOf(error)}`)
      continue
    }
    yield* packFeed(deps, { record, table, peer }, { before, budget, packed })
  }
}

async function* packFeed(
  deps: PackFeedsDeps,
  { record, table, peer }: { record: FeedRecord; table: LoaderTable; peer: NodePeer },
  { before, budget, packed }: { before: readonly BundledFeed[]; budget: Budget; packed: PackedFeeds },
): AsyncGenerator<Uint8Array> {
  const begun = await beginFeed(deps, record, table, peer, before)
  const { session } = begun
  const offer = spend(budget, partLine('feed', { offer: begun.offer }))
  if (offer === undefined) return void packed.cut.push(record.dataName)
  yield offer
  const after = session.cursor
  const aside = new Set(await deps.feeds.changesSetAside(record.feedId))
  const last = await deps.changes.last(table) // rows that are put meanwhile are for the next bundle
  const isCut = yield* packBatches(deps, { record, table, session, aside, last }, { budget, packed }, (row) =>
    setTooLargeAside(deps, record, table, row),
  )
  noteFeed(packed, record, { session, after, isCut })
}

/** Returns the offer of a feed, and the state from which its rows are read. */
async function beginFeed(
  { nodeId, identity, changes }: PackFeedsDeps,
  record: FeedRecord,
  table: LoaderTable,
  peer: NodePeer,
  before: readonly BundledFeed[],
) {
  const { feedId, start, progress } = record
  const [tableUuid = '', epoch, last] = [
    await identity.tableUuid(table),
    await identity.epoch(),
    await changes.last(table),
  ]
  const definition = sentDefinition(table, record.columns)
  const first = start.tableUuid === tableUuid ? Math.min(start.afterChange, last) : 0
  const isSame = progress.tableUuid === tableUuid && (progress.epoch ?? epoch) === epoch
  const known = isSame ? Math.min(progress.cursor, last) : first
  const earlier = before.find((one) => one.feed === feedId && one.table === tableUuid && one.epoch === epoch)
  const cursor = Math.max(known, earlier?.last ?? 0)
  const session: Session = {
    ...{ peer: peer.nodeId, tableUuid, tableId: table.tableId, epoch },
    ...{ digest: definitionDigest(definition), cursor, scanned: cursor },
  }
  return { session, offer: { node: nodeId, feed: feedId, table: tableUuid, epoch, start: first, definition } }
}

async function setTooLargeAside(
  { feeds }: PackFeedsDeps,
  { feedId }: FeedRecord,
  table: LoaderTable,
  row: ChangedRow,
): Promise<void> {
  const reason = `found a row of more than ${MAX_BATCH_BYTES} bytes, the most that a batch holds`
  await feeds.setAside(feedId, [{ change: row.change, rowKey: keyText(table, row), reason }])
}
