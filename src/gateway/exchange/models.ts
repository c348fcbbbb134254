import { randomUUID } from 'node:crypto'
import type { FlContext } from '../../api/fl/index.js'
import type { ModelStoreContext } from '../../api/model-store/index.js'
import { toModelInfo } from '../../api/model-store/model-info.js'
import type { Config } from '../../config/config.js'
import { type BlobStore, createBlobStore } from '../../files/blob-store.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { DataLayout } from '../../files/layout.js'
import { createPartFiles } from '../../files/part-files.js'
import type { ModelDownload } from '../../http/model-files/download.js'
import type { Log } from '../../log.js'
import { deltaWorkBy } from '../../models/delta/jobs.js'
import { type DeltaStore, openDeltaStore } from '../../models/delta-store.js'
import { findModelFile, findSignature } from '../../models/download.js'
import { withNameCheck } from '../../models/limited-stores.js'
import { offerDelta } from '../../models/offer-delta.js'
import { createPins } from '../../models/pins.js'
import type { RebuildDeps } from '../../models/rebuild.js'
import type { RegisterDeps } from '../../models/register-model.js'
import { BUNDLE_MEDIA_TYPE } from '../../models/signature/bundle.js'
import { createSignaturePolicy, type SignaturePolicy } from '../../models/signature/policy.js'
import { readTrustedKeys } from '../../models/signature/trusted-keys.js'
import { startUpkeep, type Upkeep } from '../../models/upkeep-loop.js'
import { createUploads } from '../../models/uploads.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import type { State } from '../../storage/state.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import { partsOfFetches } from '../../sync/fetch-model.js'
import { readSyncGauges } from '../../sync/metrics.js'
import { openOutbox } from '../../sync/open-outbox.js'
import type { Outbox } from '../../sync/outbox.js'
import { FL_PATH, MODEL_STORE_PATH } from '../../sync/peer.js'
import { readSyncStatus, type SyncStatus } from '../../sync/status.js'
import type { Throttle } from '../../sync/throttle.js'
import type { WorkerClient } from '../../worker/client.js'
import { createNameLimit } from '../rows/name-limit.js'
import { announce, type ModelFileDeps, modelUploads, peerFacts, resumableUploads } from './model-files.js'

interface ModelServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  state: State
  disk: DiskSpace
  timeZoneMin: number
  version: string
  /** of everything that is sent to other nodes */
  throttle: Throttle
  /** thread that makes and applies deltas */
  jobs: WorkerClient
}

/** The model store and the outbox of a gateway. */
export interface ModelServices {
  readonly context: Omit<
    ModelStoreContext & FlContext,
    'caller' | 'signal' | 'clock' | 'config' | 'timeZoneMin'
  >
  readonly outbox: Outbox
  /** registers the models that modules of this gateway make */
  readonly register: RegisterDeps
  /** functions behind the routes of multipart and of resumable uploads */
  readonly uploads: ReturnType<typeof modelUploads>
  readonly resumableUploads: ReturnType<typeof resumableUploads>
  /** Finds the bytes of a model. @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED */
  findFile(modelId: string): Promise<ModelDownload>
  /** Finds the signature of a model. @throws AppError UNKNOWN_MODEL, NOT_FOUND for an unsigned model */
  findSignature(modelId: string): Promise<{ bundle: string; mediaType: string }>
  /** Returns the facts that `rpc.discover` adds to the methods of a path. */
  discoverFacts(path: string): object
  /** Reads counters and gauges: name → value. */
  metrics(): Promise<Record<string, number>>
  status(): Promise<SyncStatus>
  /** Removes unreferenced bytes. Returns the number of removed files. */
  sweep(): Promise<number>
  /** Stops the outbox and the upkeep, and waits for running uploads. */
  close(): Promise<void>
}

/** Opens the models' blob store of a data directory. */
export function openModelBlobs(layout: DataLayout, disk: DiskSpace): BlobStore {
  const { modelsDir: dir, tempDir } = layout
  return createBlobStore({ dir, tempDir, requireSpace: (bytes) => disk.require(bytes) })
}

/**
 * Returns the dependencies of a registration with the settings of a gateway; also for command-line programs
 * beside one.
 *
 * @param onQueued called after a commit that queued transfers
 * @throws Error for a trusted key that cannot be read
 */
export async function registerDeps(
  state: State,
  config: Config,
  { blobs, lease, onQueued }: { blobs: BlobStore; lease: SweepLease; onQueued(): void },
): Promise<RegisterDeps> {
  const { modelStore, sync } = config
  return {
    models: state.models,
    stores: state.modelStores,
    blobs,
    pins: createPins(lease),
    nodeId: await state.meta.claimNodeId(randomUUID()),
    clock: state.clock,
    newId: randomUUID,
    location: modelStore.location,
    autoCreate: modelStore.autoCreate,
    signatures: signaturePolicy(config),
    pushStates: new Set(sync.push === 'auto' ? sync.pushStates : []),
    onQueued,
  }
}

/** Returns the decisions on signatures by the settings. @throws Error for a trusted key that cannot be read */
export function signaturePolicy({ modelStore }: Pick<Config, 'modelStore'>): SignaturePolicy {
  return createSignaturePolicy(modelStore, readTrustedKeys(modelStore.trustedKeys))
}

/** Opens the model store, starts the outbox, and starts the upkeep without waiting for its first check. */
export async function openModelServices(options: ModelServicesOptions): Promise<ModelServices> {
  const { config, layout, log, state, disk, timeZoneMin } = options
  const blobs = openModelBlobs(layout, disk)
  const parts = createPartFiles(layout.partsDir)
  const requireSpace = (bytes: number) => disk.require(bytes)
  const names = createNameLimit(config.limits.nameChars)
  const checkName = (name: string) => names.check('model_store_ddc', name)

  const lease = createSweepLease(layout.leaseDb)
  // fetched models wake nothing: the outbox schedules again after every attempt
  const fetching = await registerDeps(state, config, { blobs, lease, onQueued: () => undefined })
  const stores = withNameCheck(state.modelStores, checkName, config.modelStore.autoCreate)
  const fetched: RegisterDeps = { ...fetching, stores }
  const work = deltaWorkBy(options.jobs)
  const rebuild = { blobs, pins: fetched.pins, work, tempDir: layout.tempDir, requireSpace }
  const deltas = await openDeltas(options, rebuild)
  const sent = deltas === null ? null : { store: deltas, rebuild }
  const outbox = await openOutbox({ ...options, register: fetched, parts, requireSpace, deltas: sent })

  const register: RegisterDeps = { ...fetched, onQueued: outbox.wake }
  const maxOpenPerKey = config.modelStore.maxOpenUploads
  const uploads = createUploads({ ...register, ...rebuild, uploads: state.uploads, parts, maxOpenPerKey })
  const upkeep = startUpkeep({
    ...register,
    uploads,
    deltas,
    clock: state.clock,
    settings: { ...config.modelStore, modelsKept: config.retention.modelsKept },
    notes: state.meta,
    keptParts: () => partsOfFetches(state.transfers),
    log,
  })
  const { clock } = state
  const files = { config, clock, timeZoneMin, register, uploads, newId: randomUUID, requireSpace }
  return {
    outbox,
    register,
    context: roomContext(options, outbox, files, stores.create),
    uploads: modelUploads(files),
    resumableUploads: resumableUploads(files),
    async findFile(modelId) {
      const file = await findModelFile(state.models, blobs, modelId, upkeep.quarantine)
      return { ...file, findDelta: (bases) => offerDelta({ ...register, deltas, log }, file, bases) }
    },
    findSignature: async (modelId) => ({
      bundle: await findSignature(state.models, modelId),
      mediaType: BUNDLE_MEDIA_TYPE,
    }),
    discoverFacts: (path) =>
      path === FL_PATH || path === MODEL_STORE_PATH ? peerFacts(register.nodeId, config) : {},
    metrics: () => readMetrics(state, outbox, upkeep),
    status: () => readSyncStatus({ ...state, nowUs: clock.nowUs() }),
    sweep: upkeep.sweep,
    async close() {
      await outbox.stop()
      await deltas?.close()
      await upkeep.stop()
      await uploads.settle()
    },
  }
}

/** Opens the deltas of models; null where they are off. */
async function openDeltas(
  { config, layout, log }: ModelServicesOptions,
  rebuild: RebuildDeps,
): Promise<DeltaStore | null> {
  const { deltas, deltaMinBytes: minBytes, deltaCacheBytes: maxBytes } = config.sync
  return deltas ? await openDeltaStore({ ...rebuild, dir: layout.deltasDir, minBytes, maxBytes, log }) : null
}

/** @param createStore the `create` of the API, which checks the name of the store */
function roomContext(
  { state, timeZoneMin }: ModelServicesOptions,
  outbox: Outbox,
  files: ModelFileDeps,
  createStore: State['modelStores']['create'],
): ModelServices['context'] {
  const { models, modelStores, upstreams, transfers } = state
  const { signatures } = files.register
  return {
    models,
    modelStores: { ...modelStores, create: createStore },
    upstreams,
    transfers,
    outbox,
    signatures,
    async modelInfo(modelId) {
      const model = await models.find(modelId)
      return model === undefined ? undefined : toModelInfo(model, timeZoneMin, signatures)
    },
    announceUpload: (announced, caller) => announce(files, announced, caller),
  }
}

async function readMetrics(state: State, outbox: Outbox, upkeep: Upkeep): Promise<Record<string, number>> {
  const [models, sync] = await Promise.all([
    state.models.counts(),
    readSyncGauges(state.transfers, outbox, state.clock.nowUs()),
  ])
  return {
    models: models.models,
    model_bytes: models.bytes,
    models_damaged: models.damaged,
    models_quarantined: models.quarantined,
    damage_found: upkeep.damagedCount(),
    ...sync,
  }
}
