import type { BlobStore } from '../files/blob-store.js'
import type { ListQuery } from '../storage/columns/list-query.js'
import type { BundleRows, StoreWish } from '../storage/exchange/bundles.js'
import type { FeedUpstreams } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { ModelStores } from '../storage/models/model-stores.js'
import type { ModelRecord, ModelRows } from '../storage/models/models.js'
import type { UpstreamRows } from '../storage/models/upstreams.js'
import { partLine } from './content/parts.js'
import type { Budget, PackedModels } from './packed.js'
import { endpointOf, isUpstreamAt } from './peers.js'

/** Dependencies of packing aggregated models. */
export interface PackAggregatedDeps {
  readonly bundles: Pick<BundleRows, 'wishes'>
  readonly stores: Pick<ModelStores, 'find'>
  readonly upstreams: Pick<UpstreamRows, 'list'>
  readonly feedUpstreams: Pick<FeedUpstreams, 'find'>
  readonly models: Pick<ModelRows, 'list' | 'newest' | 'signatureOf'>
  readonly blobs: Pick<BlobStore, 'open'>
  /** Returns JSON text of the model_info, as the other node would get it. */
  infoOf(model: ModelRecord): string
  /** Reports whether a node may read models here. */
  mayReadModels(node: NodePeer): Promise<boolean>
  env(): ListQuery['env']
}

/** Most older models that are named beside the newest one. */
const MAX_OLDER = 100

/** Returns the stores of a node whose aggregated models are wanted here, and which of them is here. */
export async function wishesFor(
  { upstreams, feedUpstreams, models, env }: PackAggregatedDeps,
  peer: NodePeer,
): Promise<StoreWish[]> {
  const endpoint = await endpointOf(peer, feedUpstreams)
  if (endpoint === undefined) return []
  const all = await upstreams.list({ env: env() })
  const wishes: StoreWish[] = []
  for (const upstream of all.filter((one) => one.isEnabled && isUpstreamAt(one, endpoint))) {
    const here = await models.newest(upstream.storeId, 40)
    wishes.push({
      store: upstream.upstreamStore,
      has: here === undefined || here.isDamaged ? null : here.sha256,
    })
  }
  return wishes
}

/** Packs the newest aggregated model of each store that a node wishes, unless it has it. */
export async function* packAggregated(
  deps: PackAggregatedDeps,
  peer: NodePeer,
  { budget, packed }: { budget: Budget; packed: PackedModels },
): AsyncGenerator<Uint8Array> {
  const wishes = await deps.bundles.wishes(peer.nodeId)
  const has = Map.groupBy(wishes, ({ store }) => store)
  for (const [store, ofStore] of has) {
    const digests = ofStore.map((wish) => wish.has)
    const [newest, ...older] = await aggregatedOf(deps, store)
    if (newest === undefined || digests.every((digest) => digest === newest.sha256)) continue
    if (!(await deps.mayReadModels(peer))) {
      packed.refused.push(`aggregated models of ${store}: ${peer.name} may not read models here`)
      continue
    }
    const known = [...older.map(({ sha256 }) => sha256), ...digests.filter((digest) => digest !== null)]
    yield* packOne(deps, store, { model: newest, older: [...new Set(known)] }, { budget, packed })
  }
}

/** Returns the aggregated models of a store, the newest first, as a fetch over the network would see them. */
async function aggregatedOf(
  { stores, models, env }: PackAggregatedDeps,
  name: string,
): Promise<ModelRecord[]> {
  const store = await stores.find(name)
  if (store === undefined) return []
  const query = {
    conds: { '=': ['model_state', 30] },
    order: '-end_datetime',
    limit: MAX_OLDER + 1,
    env: env(),
  }
  const found = await models.list(store.storeId, query)
  return found[0]?.isDamaged === true ? [] : found
}

async function* packOne(
  deps: PackAggregatedDeps,
  store: string,
  { model, older }: { model: ModelRecord; older: readonly string[] },
  { budget, packed }: { budget: Budget; packed: PackedModels },
): AsyncGenerator<Uint8Array> {
  const signature = await deps.models.signatureOf(model.modelId)
  const line = partLine(
    'aggregated',
    {
      ...{ store, sha256: model.sha256, older: older.filter((digest) => digest !== model.sha256) },
      ...{ info: deps.infoOf(model), ...(signature === undefined ? {} : { signature }) },
    },
    model.sizeBytes,
  )
  if (line.byteLength + model.sizeBytes > budget.left) {
    packed.left++
    return
  }
  const bytes = await deps.blobs.open(model.sha256)
  if (bytes === undefined) return // doctor and scrub tell of it
  budget.left -= line.byteLength + model.sizeBytes
  yield line
  yield* wholeBytes(bytes, model, 'delete it')
  packed.aggregated++
}

/** Yields the bytes of a model. @throws Error for another number of them than its row has */
export async function* wholeBytes(
  bytes: AsyncIterableIterator<Uint8Array>,
  { modelId, sizeBytes }: ModelRecord,
  advice: string,
): AsyncGenerator<Uint8Array> {
  let sent = 0
  try {
    for await (const piece of bytes) {
      sent += piece.byteLength
      yield piece
    }
  } finally {
    await bytes.return?.()
  }
  if (sent !== sizeBytes)
    throw new Error(
      `the bytes of the model ${modelId} are damaged on disk: found ${sent}, expected ${sizeBytes}; ${advice}`,
    )
}
