import { AppError } from '../errors.js'
import type { BlobStore, StagedBlob } from '../files/blob-store.js'
import type { ModelStores } from '../storage/models/model-stores.js'
import type { AddOptions, ModelRecord, ModelRows, ModelState, NewModel } from '../storage/models/models.js'
import { unknownStore } from './faults.js'
import type { Pins } from './pins.js'
import { requireSigned } from './require-signed.js'
import type { SignaturePolicy } from './signature/policy.js'

/** Facts about a model that its sender supplies. */
export interface SuppliedFacts {
  /** name of the store, short or long form */
  store: string
  kind: string
  description: string
  /** its numbers may be `RawNumber`: they are stored as supplied */
  meta: Record<string, unknown>
  state: ModelState
  round: number
  /** first registration of the model; null for one that is new here. The same origin is registered once */
  origin: ModelOrigin | null
  /** nodes that passed the model on before this one */
  hopCount: number
  /** ids of these nodes, first one first */
  chain: readonly string[]
  /** signature bundle, JSON text; absent for an unsigned model */
  signature?: string
}

/** Facts about a model and its upload. */
export interface ModelFacts extends SuppliedFacts {
  /** name of the key that registers it */
  tenantId: string
  /** beginning of the upload, µs */
  startUs: number
}

/** Node and id of the first registration of a model. */
interface ModelOrigin {
  node: string
  modelId: string
}

export interface RegisterDeps {
  models: ModelRows
  stores: ModelStores
  blobs: BlobStore
  pins: Pins
  nodeId: string
  clock: { nowUs(): number }
  newId(): string
  /** lng, lat of models that are registered here */
  location: readonly [number, number]
  /** creates unknown stores */
  autoCreate: boolean
  signatures: SignaturePolicy
  /** states whose models are fed back to the upstreams without a request */
  pushStates: ReadonlySet<ModelState>
  /** called after a commit that queued transfers */
  onQueued(): void
}

/** Work that the registration of a model completes, in the same transaction. */
type RegisterOptions = Pick<AddOptions, 'fetchId' | 'uploadId'>

/**
 * Registers staged bytes as a model: first the bytes, then the row, its origin and its transfers in one
 * transaction. After an error the bytes are dropped and nothing is left behind.
 *
 * @returns the new model, or the earlier one of the same origin
 * @throws AppError UNKNOWN_STORE, LOOP, SIGNATURE_REFUSED, DISK_FULL
 */
export async function registerModel(
  deps: RegisterDeps,
  staged: StagedBlob,
  facts: ModelFacts,
  options: RegisterOptions = {},
): Promise<ModelRecord> {
  const unpin = await deps.pins.pin(staged.sha256)
  let isKept = false
  try {
    const first = await findFirst(deps, facts)
    if (first !== undefined && options.uploadId === undefined) {
      await staged.drop()
      return first
    }
    if (first === undefined) await requireSigned(deps, facts, staged.sha256)
    await staged.keep()
    isKept = true
    const { model, options: rowOptions } = newRow(deps, staged, facts, options)
    const added = await deps.models.add(model, rowOptions)
    if (added === undefined) throw unknownStore(facts.store)
    if (added.transferIds.length > 0) deps.onQueued()
    return added.model
  } catch (error) {
    if (!isKept) await staged.drop()
    throw error
  } finally {
    unpin()
    // bytes without a row: it could not be written, or the same origin was registered at the same time
    if (isKept) await removeUnnamed(deps, staged.sha256)
  }
}

async function removeUnnamed({ models, blobs, pins }: RegisterDeps, sha256: string): Promise<void> {
  await pins.removeUnnamed(
    sha256,
    () => models.isNamed(sha256),
    () => blobs.remove(sha256),
  )
}

/** Models registered together whose transfers have not begun. */
export interface RegisteredModels {
  models: ModelRecord[]
  /** starts their transfers */
  announce(): void
}

/**
 * Registers several models that are new here, all of them or none, in one transaction. After an error the
 * bytes are dropped.
 *
 * @throws AppError UNKNOWN_STORE, SIGNATURE_REFUSED, DISK_FULL
 */
export async function registerModels(
  deps: RegisterDeps,
  items: readonly { staged: StagedBlob; facts: ModelFacts }[],
): Promise<RegisteredModels> {
  const unpins = await Promise.all(items.map(({ staged }) => deps.pins.pin(staged.sha256)))
  const kept = new Set<StagedBlob>()
  try {
    for (const { staged, facts } of items) await requireSigned(deps, facts, staged.sha256)
    for (const { staged } of items) {
      await staged.keep()
      kept.add(staged)
    }
    const rows = items.map(({ staged, facts }) => newRow(deps, staged, facts, {}))
    const added = await deps.models.addAll(rows)
    if (added === undefined) throw unknownStore(items.map(({ facts }) => facts.store).join(', '))
    const hasTransfers = added.some(({ transferIds }) => transferIds.length > 0)
    return {
      models: added.map(({ model }) => model),
      announce: () => hasTransfers && deps.onQueued(),
    }
  } finally {
    for (const unpin of unpins) unpin()
    for (const { staged } of items) {
      if (kept.has(staged)) await removeUnnamed(deps, staged.sha256)
      else await staged.drop()
    }
  }
}

/** Refuses a model that this node has passed on before. @throws AppError LOOP */
export function refuseLoop(nodeId: string, { origin, chain }: SuppliedFacts): void {
  if (origin === null || (origin.node !== nodeId && !chain.includes(nodeId))) return
  throw new AppError(
    'LOOP',
    { origin: origin.node, modelId: origin.modelId },
    { message: `Model ${origin.modelId} already came through this node (${nodeId})` },
  )
}

/** Returns the model as which the origin was registered before. */
async function findFirst(deps: RegisterDeps, facts: ModelFacts): Promise<ModelRecord | undefined> {
  const store = await deps.stores.find(facts.store)
  if (store === undefined && !deps.autoCreate) throw unknownStore(facts.store)
  refuseLoop(deps.nodeId, facts)
  if (facts.origin === null || store === undefined) return undefined
  return await deps.models.findByOrigin(facts.origin.node, facts.origin.modelId, store.storeId)
}

function newRow(
  deps: RegisterDeps,
  staged: StagedBlob,
  facts: ModelFacts,
  options: RegisterOptions,
): { model: NewModel; options: AddOptions } {
  const [lng, lat] = deps.location
  return {
    model: {
      modelId: deps.newId(),
      store: facts.store,
      kind: facts.kind,
      description: facts.description,
      meta: JSON.stringify(facts.meta),
      md5: staged.md5,
      sha256: staged.sha256,
      sizeBytes: staged.sizeBytes,
      state: facts.state,
      hopCount: facts.hopCount,
      round: facts.round,
      lng,
      lat,
      startUs: facts.startUs,
      endUs: Math.max(deps.clock.nowUs(), facts.startUs), // the wall clock may be set back during the upload
      tenantId: facts.tenantId,
      origin: facts.origin,
      chain: [...facts.chain],
      signature: deps.signatures.judge(facts.signature, staged.sha256),
    },
    options: { autoCreate: deps.autoCreate, push: deps.pushStates.has(facts.state), ...options },
  }
}
