import type { z } from 'zod'
import { keyText } from '../feeds/send/collect.js'
import type { ValueEnv } from '../storage/columns/column-type.js'
import type { CitedState } from '../storage/datasets/citations.js'
import type { BundleRows } from '../storage/exchange/bundles.js'
import type {
  AskedFeeds,
  FeedIdentity,
  FeedRecord,
  FeedRows,
  FeedUpstreams,
} from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { TransferRows } from '../storage/models/transfers.js'
import type { UpstreamRows } from '../storage/models/upstreams.js'
import type { LoaderTable, TableChanges } from '../storage/tables.js'
import { endpointOf, isUpstreamAt } from './peers.js'
import type { Received } from './schema.js'

/** Dependencies of noting how far another node is. */
export interface ApplyReceivedDeps {
  readonly feeds: Pick<FeedRows, 'find' | 'list' | 'noteProgress' | 'setAside'>
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch' | 'beginEpoch'>
  readonly changes: TableChanges
  readonly transfers: Pick<TransferRows, 'find' | 'deliver'>
  readonly upstreams: Pick<UpstreamRows, 'find'>
  readonly feedUpstreams: Pick<FeedUpstreams, 'find'>
  readonly bundles: BundleRows
  readonly asked: Pick<AskedFeeds, 'ofNode' | 'noteTold'>
  findTable(dataName: string): Promise<LoaderTable | undefined>
  findCitation(label: string): Promise<CitedState | undefined>
  env(): ValueEnv
  nowUs(): number
}

/** Result of the acknowledgements in a bundle. */
export interface ReceivedResult {
  /** transfers of models that it has */
  readonly delivered: number
  /** feeds whose cursor was moved */
  readonly moved: readonly string[]
  /** rows that it refused */
  readonly setAside: number
}

type News = z.output<typeof Received>

/** A feed to a node, as it is now. */
interface Current {
  readonly record: FeedRecord
  readonly table: LoaderTable
  readonly tableUuid: string
  readonly epoch: number
}

/**
 * Notes how far a node has the feeds and models of this one. Cursors move forward; back only where the node found a gap
 * in a bundle, and nothing was learnt since that bundle was written.
 *
 * @param isOld a bundle that was written later was applied before: its wishes are those of then
 */
export async function noteReceived(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  news: News,
  isOld: boolean,
): Promise<ReceivedResult> {
  if (!isOld) await deps.bundles.noteWishes(node.nodeId, news.wishes)
  const moved = await noteCursors(deps, node, news)
  let setAside = 0
  for (const one of news.refused) if (await noteRefused(deps, node, one)) setAside++
  let delivered = 0
  for (const one of news.receipts) if (await noteReceipt(deps, node, one)) delivered++
  await deps.bundles.acknowledge(node.nodeId, news.applied)
  return { delivered, moved: [...moved], setAside }
}

/** Notes cursors of feeds to the node, of those that it asks for, and of citations. @returns feeds that were moved */
async function noteCursors(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  { feeds, citations, gaps }: News,
): Promise<Set<string>> {
  const moved = new Set<string>()
  const asked = new Map((await deps.asked.ofNode(node.nodeId)).map((one) => [one.feed.feedId, one]))
  for (const { feed, table, epoch, cursor } of feeds) {
    const one = asked.get(feed)
    if (one === undefined) {
      if (await noteCursor(deps, node, { feed, table, epoch, cursor })) moved.add(feed)
      continue
    }
    if (one.told?.cursor !== cursor) moved.add(feed)
    await deps.asked.noteTold(node.nodeId, feed, { table, epoch, cursor })
    await beginEpochIfBehind(deps, one.feed.dataName, { table, epoch, cursor })
  }
  for (const one of citations) for (const feed of await noteCitation(deps, node, one)) moved.add(feed)
  for (const one of gaps) {
    if (asked.has(one.feed)) await endContinuation(deps, node, one.feed)
    else if (await noteGap(deps, node, one)) moved.add(one.feed)
  }
  return moved
}

/** Returns a feed to a node; undefined when its table is another one by now. */
async function currentOf(
  { feeds, identity, findTable }: ApplyReceivedDeps,
  { name }: NodePeer,
  of: { feed: string; table: string; epoch: number },
): Promise<Current | undefined> {
  const record = await feeds.find(of.feed)
  if (record === undefined || record.upstream !== name) return undefined
  const table = await findTable(record.dataName)
  if (table === undefined) return undefined
  const [tableUuid = '', epoch] = [await identity.tableUuid(table), await identity.epoch()]
  return tableUuid === of.table && epoch === of.epoch ? { record, table, tableUuid, epoch } : undefined
}

/** The data here is a copy from before when a node has later changes of it: what is put now has numbers that it has seen. */
async function beginEpochIfBehind(
  { identity, changes, findTable, nowUs }: ApplyReceivedDeps,
  dataName: string,
  of: { table: string; epoch: number; cursor: number },
): Promise<void> {
  const table = await findTable(dataName)
  if (table === undefined || (await identity.tableUuid(table)) !== of.table) return
  if ((await identity.epoch()) === of.epoch && of.cursor > (await changes.last(table)))
    await identity.beginEpoch(nowUs())
}

async function noteCursor(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  of: { feed: string; table: string; epoch: number; cursor: number },
): Promise<boolean> {
  const current = await currentOf(deps, node, of)
  if (current === undefined) return false
  const { record, table, tableUuid, epoch } = current
  const last = await deps.changes.last(table)
  if (of.cursor > last) {
    // the data here is a copy from before: what is put now has numbers that the node has seen
    await deps.identity.beginEpoch(deps.nowUs())
    return true
  }
  const { progress } = record
  const isSame = progress.tableUuid === tableUuid && (progress.epoch ?? epoch) === epoch
  if (isSame && of.cursor <= progress.cursor) return false
  const scanned = await scannedOf(deps, node, of)
  await moveTo(deps, current, {
    cursor: of.cursor,
    scanned: isSame ? Math.max(progress.scanned, scanned) : scanned,
    last,
  })
  return true
}

/** Notes how much of a citation a node has: the rows of a citation never change. @returns feeds that were moved */
async function noteCitation(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  { longForm, checksum, rows, isGap }: { longForm: string; checksum: string; rows: number; isGap: boolean },
): Promise<string[]> {
  const citation = await deps.findCitation(longForm)
  if (citation?.info.checksum !== checksum) return []
  const all = await deps.feeds.list()
  const ofNode = all.filter(({ upstream, start }) => upstream === node.name && start.citation === longForm)
  const moved = ofNode.filter(({ progress }) => progress.cursor !== rows)
  for (const { feedId, progress } of moved) {
    const isThere = rows >= (citation.rowCount ?? 0)
    const behindSinceUs = isThere ? null : (progress.behindSinceUs ?? deps.nowUs())
    const now = { ...progress, cursor: rows, scanned: rows, behindSinceUs, lastError: null }
    await deps.feeds.noteProgress(feedId, now)
  }
  if (isGap) for (const { feedId } of ofNode) await endContinuation(deps, node, feedId)
  return moved.map(({ feedId }) => feedId)
}

/** Returns how far no further row was found for a node that has everything of the last bundle. */
async function scannedOf(
  { bundles }: ApplyReceivedDeps,
  { nodeId }: NodePeer,
  of: { feed: string; table: string; epoch: number; cursor: number },
): Promise<number> {
  const feeds = (await bundles.newest(nodeId))?.contents?.feeds ?? []
  const held = feeds.find(
    ({ feed, table, epoch }) => feed === of.feed && table === of.table && epoch === of.epoch,
  )
  return held?.last === of.cursor ? held.scanned : of.cursor
}

async function noteGap(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  { feed, bundle, cursor }: { feed: string; bundle: string; cursor: number },
): Promise<boolean> {
  const written = await deps.bundles.find(bundle)
  const held =
    written?.nodeId === node.nodeId ? written.contents?.feeds.find((one) => one.feed === feed) : undefined
  const current = held === undefined ? undefined : await currentOf(deps, node, held)
  if (current === undefined || held === undefined) return false
  await endContinuation(deps, node, feed)
  const { progress } = current.record
  // the node tells of the time after the bundle: what was learnt since is newer
  if (progress.cursor > held.after || cursor >= progress.cursor) return false
  const last = await deps.changes.last(current.table)
  await moveTo(deps, current, { cursor, scanned: cursor, last })
  return true
}

/** The next bundle does not go on after the last one: something before it was lost. */
async function endContinuation(
  { bundles }: ApplyReceivedDeps,
  { nodeId }: NodePeer,
  feed: string,
): Promise<void> {
  const newest = await bundles.newest(nodeId)
  if (newest?.contents == null) return
  const feeds = newest.contents.feeds.filter((one) => one.feed !== feed)
  await bundles.finish(newest.seq, { ...newest.contents, feeds })
}

async function moveTo(
  { feeds, nowUs }: ApplyReceivedDeps,
  { record, tableUuid, epoch }: Current,
  { cursor, scanned, last }: { cursor: number; scanned: number; last: number },
): Promise<void> {
  const { progress } = record
  const behindSinceUs = scanned >= last ? null : (progress.behindSinceUs ?? nowUs())
  const now = { ...progress, tableUuid, epoch, cursor, scanned, behindSinceUs, lastError: null }
  await feeds.noteProgress(record.feedId, now)
}

/** Sets a row aside that a node refused, unless it has changed since. */
async function noteRefused(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  of: { feed: string; table: string; epoch: number; change: number; reason: string },
): Promise<boolean> {
  const current = await currentOf(deps, node, of)
  if (current === undefined) return false
  const { record, table } = current
  const read = { conds: null, env: deps.env() }
  const [row] = (await deps.changes.matching(table, of.change - 1, 1, read)).rows
  if (row?.change !== of.change) return false
  await deps.feeds.setAside(record.feedId, [
    { change: row.change, rowKey: keyText(table, row), reason: of.reason.slice(0, 1000) },
  ])
  return true
}

async function noteReceipt(
  deps: ApplyReceivedDeps,
  node: NodePeer,
  { transfer: id, modelId, answer }: { transfer: number; modelId: string; answer: string },
): Promise<boolean> {
  const transfer = await deps.transfers.find(id)
  if (transfer?.modelId !== modelId || transfer.kind !== 'feedback' || transfer.state === 'delivered')
    return false
  const upstream = await deps.upstreams.find(transfer.upstreamId)
  const endpoint = await endpointOf(node, deps.feedUpstreams)
  if (upstream === undefined || endpoint === undefined || !isUpstreamAt(upstream, endpoint)) return false
  await deps.transfers.deliver(id, answer)
  return true
}
