import { randomUUID } from 'node:crypto'
import type { NodeKeys } from '../node-keys/keys.js'
import type { BundleNews, BundleRows, WrittenBundle } from '../storage/exchange/bundles.js'
import type { FeedInbox } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import { type EnvelopeWriter, writeEnvelopes } from './bundle-file.js'
import { partLine } from './content/parts.js'
import type { Budget, PackedFeeds, PackedModels } from './packed.js'
import { BUNDLE_VERSION } from './schema.js'
import { CHUNK_BYTES, ENVELOPE_HEAD_BYTES, TAG_BYTES } from './seal/format.js'
import { sealEnvelope } from './seal/seal.js'
import { type PackAggregatedDeps, packAggregated, wishesFor } from './write-aggregated.js'
import { type PackFeedsDeps, packFeeds } from './write-feeds.js'
import { type PackGivenDeps, packGiven } from './write-given.js'
import { type PackModelsDeps, packModels } from './write-models.js'

/** Dependencies of writing bundles. */
export interface WriteDeps extends PackFeedsDeps, PackGivenDeps, PackModelsDeps, PackAggregatedDeps {
  readonly models: PackModelsDeps['models'] & PackAggregatedDeps['models']
  readonly keys: NodeKeys
  readonly bundles: BundleRows
  readonly inbox: Pick<FeedInbox, 'ofSender'>
}

/** Which bundles to write. */
export interface WriteOptions {
  /** most bytes of the file */
  readonly maxBytes: number
  /** begins after the last bundle for each node, acknowledged or not */
  readonly isContinued: boolean
}

/** A bundle that was written. */
export interface WrittenFor {
  readonly node: NodePeer
  readonly bundleId: string
  readonly bytes: number
  readonly rows: number
  readonly models: number
  /** tables and citations of which rows are left for the next bundle */
  readonly cut: readonly string[]
  /** models that are left for the next bundle */
  readonly modelsLeft: number
  /** feeds and models that cannot be packed, with the reason */
  readonly refused: readonly string[]
}

/**
 * Writes a file with one bundle for each node. It appears under its name when it is whole and on disk.
 *
 * @throws Error for a file that exists, a full disk, or too little room for what tells how far this node is
 */
export async function writeBundles(
  deps: WriteDeps,
  file: string,
  peers: readonly NodePeer[],
  options: WriteOptions,
): Promise<WrittenFor[]> {
  const begun: number[] = []
  try {
    return await writeEnvelopes(file, peers.length, async (writer) => {
      const written: WrittenFor[] = []
      for (const [index, node] of peers.entries()) {
        const bundle = await beginBundle(deps, node, options.isContinued)
        begun.push(bundle.seq)
        const rest = peers.length - index - 1
        bundle.budget.left = roomOf(options.maxBytes - writer.bytes() - rest * MIN_BYTES)
        written.push(await writeOne(deps, writer, bundle))
      }
      return written
    })
  } catch (error) {
    for (const seq of begun) await deps.bundles.drop(seq)
    throw error
  }
}

async function writeOne(deps: WriteDeps, writer: EnvelopeWriter, bundle: Bundle): Promise<WrittenFor> {
  const { node, bundleId, feeds, models } = bundle
  const bytes = await writer.add(sealEnvelope(textOf(deps, bundle), deps.keys, node.exchangeKey))
  await deps.bundles.finish(bundle.seq, { feeds: feeds.feeds, transfers: models.transfers })
  return {
    ...{ node, bundleId, bytes, rows: feeds.rows, models: models.transfers.length + models.aggregated },
    ...{ cut: feeds.cut, modelsLeft: models.left, refused: [...feeds.refused, ...models.refused] },
  }
}

/** Room that each bundle has in a file of several, for what tells how far this node is. */
const MIN_BYTES = 64 * 1024

/** Returns the most bytes of text for an envelope of so many bytes. */
function roomOf(bytes: number): number {
  const sealed = bytes - ENVELOPE_HEAD_BYTES - END_BYTES
  return Math.floor((sealed / (CHUNK_BYTES + TAG_BYTES)) * CHUNK_BYTES) - TAG_BYTES
}

/** Size of the last part and the signature. */
const END_BYTES = 100

/** A bundle while it is written. */
interface Bundle {
  readonly node: NodePeer
  readonly bundleId: string
  readonly seq: number
  readonly news: BundleNews
  /** the last one, after which it goes on */
  readonly before: WrittenBundle | undefined
  readonly skipped: ReadonlySet<number>
  readonly budget: Budget
  readonly feeds: PackedFeeds
  readonly models: PackedModels
}

async function beginBundle({ bundles }: WriteDeps, node: NodePeer, isContinued: boolean): Promise<Bundle> {
  const before = isContinued ? await bundles.newest(node.nodeId) : undefined
  const open = isContinued ? await bundles.unacknowledged() : []
  const ofNode = open.filter(({ nodeId }) => nodeId === node.nodeId)
  const skipped = new Set(ofNode.flatMap(({ contents }) => contents?.transfers ?? []))
  const bundleId = randomUUID()
  const seq = await bundles.begin(node.nodeId, bundleId)
  return {
    ...{ node, bundleId, seq, before, skipped, budget: { left: 0 } },
    news: await bundles.news(node.nodeId, seq),
    feeds: { feeds: [], rows: 0, cut: [], refused: [] },
    models: { transfers: [], aggregated: 0, left: 0, refused: [] },
  }
}

/** Yields the text of a bundle. */
async function* textOf(deps: WriteDeps, bundle: Bundle): AsyncGenerator<Uint8Array> {
  const { node, bundleId, seq, budget } = bundle
  const received = await receivedOf(deps, bundle)
  const head = partLine('bundle', {
    ...{ fieldgate_bundle: BUNDLE_VERSION, bundle: bundleId, from: deps.nodeId, to: node.nodeId },
    ...{ epoch: await deps.identity.epoch(), seq },
  })
  const begin = Buffer.concat([head, partLine('received', {}, received.byteLength), received])
  budget.left -= begin.byteLength
  if (budget.left < 0)
    throw new Error(
      `--max-bytes: found too few, expected at least ${-budget.left} more for what tells ${node.name} how far this gateway is`,
    )
  yield begin
  const feeds = { before: bundle.before?.contents?.feeds ?? [], budget, packed: bundle.feeds }
  yield* packFeeds(deps, node, feeds)
  yield* packGiven(deps, node, feeds)
  yield* packModels(deps, node, { skipped: bundle.skipped, budget, packed: bundle.models })
  yield* packAggregated(deps, node, { budget, packed: bundle.models })
  yield partLine('end', {})
}

/** Returns what tells a node how far its feeds and models are here. */
async function receivedOf(deps: WriteDeps, { node, news }: Bundle): Promise<Buffer> {
  const feeds = (await deps.inbox.ofSender(node.nodeId)).map(({ feed, senderTable, epoch, cursor }) => ({
    ...{ feed, table: senderTable, epoch, cursor },
  }))
  return Buffer.from(JSON.stringify({ ...news, feeds, wishes: await wishesFor(deps, node) }), 'utf8')
}
