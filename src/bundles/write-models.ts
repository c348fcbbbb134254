import type { BlobStore } from '../files/blob-store.js'
import type { ListQuery } from '../storage/columns/list-query.js'
import type { FeedUpstreams } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { ModelRows } from '../storage/models/models.js'
import type { TransferRecord, TransferRows } from '../storage/models/transfers.js'
import type { UpstreamRecord, UpstreamRows } from '../storage/models/upstreams.js'
import { feedbackData } from '../sync/peer.js'
import { partLine } from './content/parts.js'
import { type Budget, type PackedModels, spend } from './packed.js'
import { endpointOf, isUpstreamAt } from './peers.js'
import { wholeBytes } from './write-aggregated.js'

/** Dependencies of packing models. */
export interface PackModelsDeps {
  readonly transfers: Pick<TransferRows, 'list'>
  readonly upstreams: Pick<UpstreamRows, 'list'>
  readonly feedUpstreams: Pick<FeedUpstreams, 'find'>
  readonly models: Pick<ModelRows, 'findForTransfer' | 'signatureOf'>
  readonly blobs: Pick<BlobStore, 'open'>
  readonly nodeId: string
  env(): ListQuery['env']
}

/** Packs the models that wait in the outbox for a node, the oldest first. @param skipped transfers to leave out */
export async function* packModels(
  deps: PackModelsDeps,
  peer: NodePeer,
  { skipped, budget, packed }: { skipped: ReadonlySet<number>; budget: Budget; packed: PackedModels },
): AsyncGenerator<Uint8Array> {
  const endpoint = await endpointOf(peer, deps.feedUpstreams)
  if (endpoint === undefined) return
  const upstreams = await deps.upstreams.list({ env: deps.env() })
  for (const upstream of upstreams.filter((one) => one.isEnabled && isUpstreamAt(one, endpoint)))
    for (const transfer of await waitingFor(deps, upstream))
      if (!skipped.has(transfer.transferId)) yield* packModel(deps, upstream, transfer, { budget, packed })
}

/** Returns the transfers to an upstream that are neither delivered nor failed; one may be on its way just now. */
async function waitingFor(
  { transfers, env }: PackModelsDeps,
  { upstreamId }: UpstreamRecord,
): Promise<TransferRecord[]> {
  const conds = {
    and: [
      { '=': ['upstream_id', upstreamId] },
      { '=': ['kind', 'feedback'] },
      { or: [{ '=': ['state', 'queued'] }, { '=': ['state', 'sending'] }] },
    ],
  }
  return await transfers.list({ conds, order: 'id', env: env() })
}

async function* packModel(
  deps: PackModelsDeps,
  upstream: UpstreamRecord,
  { transferId, modelId }: TransferRecord,
  { budget, packed }: { budget: Budget; packed: PackedModels },
): AsyncGenerator<Uint8Array> {
  const model = modelId === null ? undefined : await deps.models.findForTransfer(modelId)
  const bytes = model === undefined || model.isDamaged ? undefined : await deps.blobs.open(model.sha256)
  if (model === undefined || bytes === undefined) return // the outbox reports it
  try {
    const signature = await deps.models.signatureOf(model.modelId)
    const data = JSON.stringify(feedbackData(model, upstream, deps.nodeId, signature))
    const head = { transfer: transferId, model: model.modelId, sha256: model.sha256, data }
    const line = partLine('model', head, model.sizeBytes)
    if (line.byteLength + model.sizeBytes > budget.left) {
      packed.left++
      return
    }
    budget.left -= model.sizeBytes
    yield spend(budget, line) ?? line
    yield* wholeBytes(bytes, model, 'cancel its transfer')
    packed.transfers.push(transferId)
  } finally {
    await bytes.return?.()
  }
}
