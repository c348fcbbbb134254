import { AppError } from '../errors.js'
import type { BlobStore, StagedBlob } from '../files/blob-store.js'
import type { ModelStores } from '../storage/model-stores.js'
import type { AddOptions, ModelRecord, ModelRows, ModelState, NewModel } from '../storage/models.js'
import type { Pins } from './pins.js'

/** What comes with a model's bytes. */
export interface ModelFacts {
  /** name of the store, short or long form */
  store: string
  kind: string
  description: string
  meta: Record<string, unknown>
  state: ModelState
  round: number
  tenantId: string
  /** where it was first registered: taken once, however often it comes. null for what is new here */
  origin: ModelOrigin | null
  /** hops from where it was first registered */
  hopCount: number
  /** nodes it came through, the first one first */
  chain: readonly string[]
  /** when the upload began, µs */
  startUs: number
}

export interface ModelOrigin {
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
  /** lng, lat told with models that are registered here */
  location: readonly [number, number]
  autoCreate: boolean
  /** states that go to the upstreams by themselves */
  pushStates: ReadonlySet<ModelState>
  /** told after the commit that transfers wait */
  onQueued(transferIds: readonly number[]): void
}

export interface RegisterOptions {
  fetchId?: number
  uploadId?: string
}

/**
 * Registers staged bytes as a model: bytes first, then one transaction for the row, its origin and its transfers.
 * On any fault the bytes are dropped and nothing stays.
 *
 * @throws AppError UNKNOWN_STORE, LOOP, DISK_FULL
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
    const first = await checkOrigin(deps, facts)
    if (first !== undefined && options.uploadId === undefined) {
      await staged.drop()
      return first
    }
    await staged.keep()
    isKept = true
    return await writeRow(deps, staged, facts, options)
  } catch (error) {
    if (!isKept) await staged.drop()
    throw error
  } finally {
    unpin()
    // bytes without a row (it could not be written, or the same came twice at once) go at once
    if (isKept) await dropUnnamed(deps, staged.sha256)
  }
}

async function dropUnnamed({ models, blobs, pins }: RegisterDeps, sha256: string): Promise<void> {
  await pins.removeUnnamed(
    sha256,
    () => models.isNamed(sha256),
    () => blobs.remove(sha256),
  )
}

/** Models that are registered together, and what is still to be told. */
export interface RegisteredModels {
  models: ModelRecord[]
  /** lets their transfers begin */
  announce(): void
}

/**
 * Registers several new models of this node, in one transaction: all of them or none. The bytes are dropped on any fault.
 *
 * @throws AppError UNKNOWN_STORE, DISK_FULL
 */
export async function registerModels(
  deps: RegisterDeps,
  items: readonly { staged: StagedBlob; facts: ModelFacts }[],
): Promise<RegisteredModels> {
  const unpins = await Promise.all(items.map(({ staged }) => deps.pins.pin(staged.sha256)))
  const kept = new Set<StagedBlob>()
  try {
    for (const { staged } of items) {
      await staged.keep()
      kept.add(staged)
    }
    const rows = items.map(({ staged, facts }) => newRow(deps, staged, facts, {}))
    const added = await deps.models.addAll(rows)
    if (added === undefined) throw unknownStore(items.map(({ facts }) => facts.store).join(', '))
    const transferIds = added.flatMap((one) => one.transferIds)
    return {
      models: added.map(({ model }) => model),
      announce: () => transferIds.length > 0 && deps.onQueued(transferIds),
    }
  } finally {
    for (const unpin of unpins) unpin()
    for (const { staged } of items) {
      if (kept.has(staged)) await dropUnnamed(deps, staged.sha256)
      else await staged.drop()
    }
  }
}

/** @throws AppError LOOP when this node is among those that the model came through */
export function refuseLoop(nodeId: string, origin: ModelOrigin, chain: readonly string[]): void {
  if (origin.node !== nodeId && !chain.includes(nodeId)) return
  throw new AppError(
    'LOOP',
    { origin: origin.node, modelId: origin.modelId },
    { message: `Model ${origin.modelId} already came through this node (${nodeId})` },
  )
}

/** @returns the model that this origin was registered as before */
async function checkOrigin(deps: RegisterDeps, facts: ModelFacts): Promise<ModelRecord | undefined> {
  const store = await deps.stores.find(facts.store)
  if (store === undefined && !deps.autoCreate) throw unknownStore(facts.store)
  if (facts.origin === null) return undefined
  refuseLoop(deps.nodeId, facts.origin, facts.chain)
  if (store === undefined) return undefined
  return await deps.models.findByOrigin(facts.origin.node, facts.origin.modelId, store.storeId)
}

async function writeRow(
  deps: RegisterDeps,
  staged: StagedBlob,
  facts: ModelFacts,
  options: RegisterOptions,
): Promise<ModelRecord> {
  const { model, options: rowOptions } = newRow(deps, staged, facts, options)
  const added = await deps.models.add(model, rowOptions)
  if (added === undefined) throw unknownStore(facts.store)
  if (added.transferIds.length > 0) deps.onQueued(added.transferIds)
  return added.model
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
      endUs: Math.max(deps.clock.nowUs(), facts.startUs),
      tenantId: facts.tenantId,
      origin: facts.origin,
      chain: [...facts.chain],
    },
    options: { autoCreate: deps.autoCreate, push: deps.pushStates.has(facts.state), ...options },
  }
}

export function unknownStore(name: string): AppError {
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name
  return new AppError(
    'UNKNOWN_STORE',
    { model_store_ddc: shown },
    { message: `No model store is named ${JSON.stringify(shown)}` },
  )
}
