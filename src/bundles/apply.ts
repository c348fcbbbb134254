import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Caller } from '../auth/caller.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import type { NodeKeys } from '../node-keys/keys.js'
import type { BundleMark, BundleRows } from '../storage/exchange/bundles.js'
import type { NodePeer, NodePeers } from '../storage/exchange/node-keys.js'
import { type ApplyAggregatedDeps, takeAggregated } from './apply-aggregated.js'
import { type ApplyCitationsDeps, takeCitations } from './apply-citations.js'
import { type ApplyFeedsDeps, type FeedResult, takeFeeds } from './apply-feeds.js'
import { type ApplyGivenDeps, takeGiven } from './apply-given.js'
import { type ModelResult, takeModel } from './apply-models.js'
import { type ApplyReceivedDeps, noteReceived, type ReceivedResult } from './apply-received.js'
import { bodyOf, type Part, readParts } from './content/parts.js'
import {
  AggregatedHead,
  AsideHead,
  BatchHead,
  BundleHead,
  CitationHead,
  GivenHead,
  ModelHead,
  Received,
  RowsHead,
  readAs,
} from './schema.js'
import { bad, type Envelope, type EnvelopeSpan, findEnvelopes, openEnvelope } from './seal/open.js'

/** Dependencies of taking bundles. */
export interface ApplyDeps
  extends ApplyFeedsDeps,
    ApplyGivenDeps,
    ApplyCitationsDeps,
    ApplyAggregatedDeps,
    ApplyReceivedDeps {
  readonly upstreams: ApplyAggregatedDeps['upstreams'] & ApplyReceivedDeps['upstreams']
  readonly keys: NodeKeys
  readonly peers: Pick<NodePeers, 'find'>
  readonly bundles: BundleRows
}

/** A bundle that was taken. */
export interface AppliedBundle {
  readonly node: NodePeer
  readonly bundleId: string
  readonly feeds: readonly FeedResult[]
  readonly models: ModelResult
  readonly received: ReceivedResult
}

/** Result of taking a file. */
export interface AppliedFile {
  readonly bundles: readonly AppliedBundle[]
  /** bundles in the file that are for other nodes */
  readonly others: number
}

/** A bundle for this node whose every byte is authentic. */
interface CheckedBundle {
  readonly envelope: Envelope
  readonly node: NodePeer
  readonly mark: BundleMark
  readonly caller: Caller
}

/** Most bytes of what tells how far the sender is. */
const MAX_RECEIVED_BYTES = 64 * 1024 * 1024

/**
 * Takes the bundles in a file that are for this node. The file is read twice: nothing is used before every byte of
 * them was authenticated and their signatures were found right.
 *
 * @throws Error for a file that is torn, changed, for other nodes, or of an unknown sender: nothing was changed; AppError
 *   DISK_FULL, BUSY, or a fault of the file while it is read again: what came before is stored, and the file may be
 *   applied again
 */
export async function applyBundles(deps: ApplyDeps, file: string): Promise<AppliedFile> {
  const handle = await open(file, 'r')
  try {
    const spans = await findEnvelopes(handle)
    const checked: CheckedBundle[] = []
    for (const span of spans) {
      const bundle = await checkBundle(deps, handle, span)
      if (bundle !== undefined) checked.push(bundle)
    }
    if (checked.length === 0) {
      const which = spans.length === 1 ? 'it is' : `all its ${spans.length} bundles are`
      throw bad(`${which} for another node, or the beginning was changed`)
    }
    const bundles: AppliedBundle[] = []
    for (const bundle of checked) bundles.push(await takeBundle(deps, bundle))
    return { bundles, others: spans.length - checked.length }
  } finally {
    await handle.close()
  }
}

/** Reads a bundle to its end and changes nothing. @returns undefined for one that is for another node */
async function checkBundle(
  { keys, peers, rightsOf }: ApplyDeps,
  file: FileHandle,
  span: EnvelopeSpan,
): Promise<CheckedBundle | undefined> {
  const envelope = await openEnvelope(file, span, keys)
  if (envelope === undefined) return undefined
  const hash = createHash('sha256')
  const heads: Part['head'][] = []
  for await (const part of readParts(hashing(envelope.text(), hash))) {
    if (heads.length === 0) heads.push(part.head)
    else await checkPart(part)
  }
  const { bundle, from, to, epoch, seq } = readAs(BundleHead, heads[0], 'bundle')
  const node = await peers.find(from)
  if (node === undefined || node.nodeId !== from)
    throw bad(
      `found the sender ${from}, whose keys are not known here: \`fieldgate bundle peer add\` adds them`,
    )
  if (!envelope.isSignedBy(node.signingKey, hash.digest()))
    throw bad(`its signature is not that of ${node.name}`)
  if (to !== keys.identity.nodeId) throw bad(`found the receiver ${to}, expected ${keys.identity.nodeId}`)
  const caller = await rightsOf(node)
  if ('refused' in caller) throw bad(caller.refused)
  return { envelope, node, caller, mark: { nodeId: from, bundleId: bundle, epoch, seq } }
}

/** Checks the form of a part, so that a bundle is refused before any other part of it is used. */
async function checkPart(part: Part): Promise<void> {
  const { head, bytes } = part
  switch (head.part) {
    case 'received':
      await readReceived(part)
      return
    case 'feed':
      return // refused alone
    case 'batch':
      readAs(BatchHead, head, 'batch')
      return checkBytes(bytes, 'a batch')
    case 'given':
      readAs(GivenHead, head, 'given')
      return
    case 'aside':
      readAs(AsideHead, head, 'aside')
      return
    case 'citation':
      readAs(CitationHead, head, 'citation')
      return
    case 'rows':
      readAs(RowsHead, head, 'rows')
      return checkBytes(bytes, 'rows of a citation')
    case 'model':
      readAs(ModelHead, head, 'model')
      return
    case 'aggregated':
      readAs(AggregatedHead, head, 'aggregated')
      return
    default:
      throw bad(`found a part ${String(head.part).slice(0, 50)}, which this version does not know`)
  }
}

function checkBytes(bytes: number, what: string): void {
  if (bytes > MAX_BATCH_BYTES)
    throw bad(`found ${what} of ${bytes} bytes, expected at most ${MAX_BATCH_BYTES}`)
}

async function readReceived(part: Part) {
  const bytes = await bodyOf(part, MAX_RECEIVED_BYTES)
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw bad('the part of acknowledgements: found no JSON, expected an object')
  }
  return readAs(Received, json, 'received')
}

async function* hashing(
  text: AsyncGenerator<Uint8Array>,
  hash: { update(piece: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const piece of text) {
    hash.update(piece)
    yield piece
  }
}

async function takeBundle(
  deps: ApplyDeps,
  { envelope, node, mark, caller }: CheckedBundle,
): Promise<AppliedBundle> {
  const isOld = await deps.bundles.isOld(mark)
  const feeds = takeFeeds(deps, node, { bundleId: mark.bundleId, isOld, caller })
  const given = takeGiven(deps, node, { bundleId: mark.bundleId, isOld })
  let batches: { take(part: Part): Promise<void> } = feeds
  const citations = takeCitations(deps, node, { isOld, caller })
  const models: ModelResult = { taken: 0, known: 0, refused: [] }
  let received: ReceivedResult = { delivered: 0, moved: [], setAside: 0 }
  for await (const part of readParts(envelope.text())) {
    switch (part.head.part) {
      case 'received':
        received = await noteReceived(deps, node, await readReceived(part), isOld)
        break
      case 'feed':
        batches = feeds
        await feeds.open(part.head.offer)
        break
      case 'batch':
        await batches.take(part)
        break
      case 'given':
        batches = given
        await given.open(part)
        break
      case 'aside':
        await given.setAside(part)
        break
      case 'citation':
        await citations.open(part)
        break
      case 'rows':
        await citations.take(part)
        break
      case 'model':
        await takeModel(deps, { node, caller }, { head: readAs(ModelHead, part.head, 'model'), part }, models)
        break
      case 'aggregated':
        await takeAggregated(deps, node, part, models)
        break
      default: // the first part
    }
  }
  const results = [...(await feeds.end()), ...(await given.end()), ...(await citations.end())]
  await deps.bundles.noteApplied(mark)
  return { node, bundleId: mark.bundleId, feeds: results, models, received }
}
