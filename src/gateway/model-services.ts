import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hono } from 'hono'
import type { FlContext } from '../api/fl/index.js'
import {
  isUploadMethod,
  type ModelStoreContext,
  readUploadData,
  receiveModel,
  toModelInfo,
  UPLOAD_METHODS,
  type UploadData,
} from '../api/model-store/index.js'
import type { Caller } from '../auth/caller.js'
import type { Config } from '../config.js'
import { AppError } from '../errors.js'
import { type BlobStore, createBlobStore, type StagedBlob } from '../files/blob-store.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import { createPartFiles } from '../files/part-files.js'
import type { HttpEnv } from '../http/env.js'
import { addDownloadRoute, type Downloadable } from '../http/model-files/download.js'
import {
  addTusRoutes,
  CHECKSUM_ALGORITHMS,
  type ResumableUploads,
  UPLOADS_PATH,
} from '../http/model-files/tus.js'
import { addUploadRoute, type ModelUploads } from '../http/model-files/upload.js'
import type { RpcDeps } from '../http/rpc-routes.js'
import type { Log } from '../log.js'
import { announceUpload } from '../models/announce.js'
import { createPins } from '../models/pins.js'
import type { RegisterDeps } from '../models/register-model.js'
import { createUploads, type Uploads } from '../models/uploads.js'
import type { Api } from '../rpc/dispatch.js'
import { createSweepLease } from '../storage/sqlite/connection/lease.js'
import type { ModelTables, State } from '../storage/state.js'
import type { UploadRecord } from '../storage/uploads.js'
import type { AttemptDeps } from '../sync/attempt.js'
import { type Outbox, startOutbox } from '../sync/outbox.js'
import { FL_PATH, MODEL_STORE_PATH } from '../sync/peer.js'
import { createRunner } from '../sync/run-attempt.js'
import { readSyncStatus, type SyncStatus } from '../sync/status.js'
import { createThrottle } from '../sync/throttle.js'
import { isWithinWindows } from '../sync/windows.js'
import { startUpkeep } from './model-upkeep.js'
import { createNameLimit } from './name-limit.js'

/** A request waits so long for another one that holds the same upload. */
const LOCK_WAIT_MS = 3000

export interface ModelServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  state: State
  disk: DiskSpace
  timeZoneMin: number
  version: string
}

/** The model store and the outbox of a gateway. */
export interface ModelServices {
  readonly context: Omit<
    ModelStoreContext & FlContext,
    'caller' | 'signal' | 'clock' | 'config' | 'timeZoneMin'
  >
  readonly outbox: Outbox
  /** what registering models needs, for those that are made here */
  readonly register: RegisterDeps
  /** routes that are not JSON-RPC: uploads, resumable uploads, downloads */
  addRoutes<C>(app: Hono<HttpEnv>, api: Api<C>, deps: RpcDeps<C>): void
  /** what `rpc.discover` tells of this node at a path, beside the methods */
  discoverFacts(path: string): object
  /** counters and gauges, flat */
  metrics(): Promise<Record<string, number>>
  status(): Promise<SyncStatus>
  /** removes bytes that nothing names. @returns files that went */
  sweep(): Promise<number>
  close(): Promise<void>
}

/** The models' blob store of a data directory. */
export function openModelBlobs(layout: DataLayout, disk: DiskSpace): BlobStore {
  const { modelsDir: dir, tempDir } = layout
  return createBlobStore({ dir, tempDir, requireSpace: (bytes) => disk.require(bytes) })
}

/** Opens the model store, starts the outbox, and begins to check what is stored, without waiting for it. */
export async function openModelServices(options: ModelServicesOptions): Promise<ModelServices> {
  const { config, layout, state, disk } = options
  const rows = state
  const newStores = withNameLimit(rows.modelStores, config)
  const blobs = openModelBlobs(layout, disk)
  const parts = createPartFiles(layout.partsDir)
  const nodeId = await state.meta.claimNodeId(randomUUID())
  let outbox: Outbox | undefined
  const register: RegisterDeps = {
    models: rows.models,
    stores: newStores,
    blobs,
    pins: createPins(createSweepLease(layout.leaseDb)),
    nodeId,
    clock: state.clock,
    newId: randomUUID,
    location: config.modelStore.location,
    autoCreate: config.modelStore.autoCreate,
    pushStates: new Set(config.sync.push === 'auto' ? config.sync.pushStates : []),
    onQueued: () => outbox?.wake(),
  }
  const requireSpace = (bytes: number) => disk.require(bytes)
  const uploads = createUploads({
    ...register,
    uploads: rows.uploads,
    parts,
    maxOpenPerKey: config.modelStore.maxOpenUploads,
    requireSpace,
  })
  const attempts = attemptDeps(options, {
    register,
    transfers: rows.transfers,
    blobs,
    parts,
    nodeId,
    requireSpace,
  })
  const running = await startOutbox({
    ...outboxSettings(options),
    transfers: rows.transfers,
    control: rows.control,
    runner: createRunner(attempts, rows.upstreams, clientSettings(options)),
  })
  outbox = running
  const upkeep = startUpkeep(options, rows, register, uploads)
  return {
    outbox: running,
    register,
    context: roomContext(
      options,
      { ...rows, modelStores: { ...rows.modelStores, create: newStores.create } },
      running,
      { register, uploads, nodeId },
    ),
    addRoutes(app, api, deps) {
      addUploadRoute(app, api, deps, modelUploads(options, register, requireSpace))
      addDownloadRoute(app, api, deps, (modelId) => findDownload(rows.models, blobs, modelId))
      addTusRoutes(app, api, deps, resumableUploads(options, uploads, nodeId))
    },
    discoverFacts: (at) => (at === FL_PATH || at === MODEL_STORE_PATH ? peerFacts(nodeId) : {}),
    metrics: () => readMetrics(rows, running, upkeep.damaged, state),
    status: () => readSyncStatus({ ...rows, nowUs: state.clock.nowUs() }),
    sweep: upkeep.sweep,
    async close() {
      await running.stop()
      await upkeep.stop()
      await uploads.settle()
    },
  }
}

/** Stores as a put sees them, which makes what it does not find, and as `model_store.create` does. */
function withNameLimit(stores: Rows['modelStores'], { limits, modelStore }: Config): Rows['modelStores'] {
  const names = createNameLimit(limits.nameChars)
  const check = (name: string) => names.check('model_store_ddc', name)
  return {
    ...stores,
    async create(name) {
      check(name)
      return await stores.create(name)
    },
    async find(name) {
      const found = await stores.find(name)
      if (found === undefined && modelStore.autoCreate) check(name)
      return found
    },
  }
}

function roomContext(
  options: ModelServicesOptions,
  { models, modelStores, upstreams, transfers }: Rows,
  outbox: Outbox,
  deps: { register: RegisterDeps; uploads: Uploads; nodeId: string },
): ModelServices['context'] {
  return {
    models,
    modelStores,
    upstreams,
    transfers,
    outbox,
    async modelInfo(modelId) {
      const model = await models.find(modelId)
      return model === undefined ? undefined : toModelInfo(model, options.timeZoneMin)
    },
    announceUpload: (announced, caller) => announce(options, deps, announced, caller),
  }
}

export type Rows = ModelTables

/** What tells other gateways that this is one of them. */
function peerFacts(nodeId: string): object {
  return {
    'x-node-id': nodeId,
    'x-resumable-upload': { path: UPLOADS_PATH, protocol: 'tus 1.0.0', checksum: CHECKSUM_ALGORITHMS },
    'x-uploads': UPLOAD_METHODS,
  }
}

function outboxSettings({ config, timeZoneMin, log, state }: ModelServicesOptions) {
  const { sync } = config
  return {
    waits: { baseMs: sync.retryBaseS * 1000, capMs: sync.retryCapS * 1000 },
    concurrency: sync.concurrency,
    closedReason: () => closedReason(config, state.clock.nowUs(), timeZoneMin),
    nowMs: () => performance.now(),
    nowUs: () => state.clock.nowUs(),
    random: Math.random,
    log,
  }
}

function closedReason({ sync }: Config, nowUs: number, timeZoneMin: number): string | null {
  if (sync.paused) return 'paused by the configuration (sync.paused)'
  return isWithinWindows(sync.windows, nowUs, timeZoneMin) ? null : 'outside sync.windows'
}

function attemptDeps(
  { config, timeZoneMin, state }: ModelServicesOptions,
  deps: Omit<AttemptDeps, 'throttle' | 'closedReason' | 'sleep' | 'random'>,
): AttemptDeps {
  const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal })
  return {
    ...deps,
    throttle: createThrottle(config.sync.maxBytesPerSecond, () => performance.now(), pause),
    closedReason: () => closedReason(config, state.clock.nowUs(), timeZoneMin),
    sleep: pause,
    random: Math.random,
  }
}

function clientSettings({ config, version }: ModelServicesOptions) {
  const { sync } = config
  return {
    idleTimeoutMs: sync.idleTimeoutS * 1000,
    connectTimeoutMs: sync.connectTimeoutS * 1000,
    maxReplyBytes: sync.replyBytes,
    allowPrivate: sync.allowPrivate,
    allowLoopback: sync.allowLoopback,
    allowInsecure: sync.allowInsecure,
    caFile: sync.caFile === undefined ? undefined : path.resolve(sync.caFile),
    userAgent: `fieldgate/${version}`,
  }
}

async function announce(
  { config, timeZoneMin }: ModelServicesOptions,
  deps: { register: RegisterDeps; uploads: Uploads; nodeId: string },
  { sha256, sizeBytes, data }: { sha256: string; sizeBytes: number; data: unknown },
  caller: Caller,
) {
  const { modelBytes } = config.limits
  if (sizeBytes > modelBytes) {
    const message = `Found ${sizeBytes} bytes, expected at most ${modelBytes} (limits.modelBytes)`
    throw new AppError('BODY_TOO_LARGE', { maxBytes: modelBytes }, { message })
  }
  const facts = {
    ...readUploadData('model_store.model.put_feedback', data, deps.nodeId),
    tenantId: caller.keyName,
  }
  const upload = { uploadId: randomUUID(), keyId: caller.keyId, sha256, sizeBytes, facts }
  const answer = await announceUpload(deps.register, deps.uploads, upload)
  if ('model' in answer) return { have: true as const, model_info: toModelInfo(answer.model, timeZoneMin) }
  const { uploadId, offsetBytes } = answer.upload
  return { have: false as const, upload_url: `${UPLOADS_PATH}/${uploadId}`, offset: offsetBytes }
}

function modelUploads(
  { config, state, timeZoneMin }: ModelServicesOptions,
  register: RegisterDeps,
  requireSpace: (bytes: number) => Promise<void>,
): ModelUploads<UploadData, StagedBlob> {
  return {
    maxModelBytes: config.limits.modelBytes,
    maxDataBytes: config.limits.modelDataBytes,
    maxParts: config.limits.modelParts,
    nowUs: () => state.clock.nowUs(),
    isMethod: isUploadMethod,
    requireSpace,
    readData(method, json) {
      if (!isUploadMethod(method)) throw new Error('the route checked the method')
      return readUploadData(method, json, register.nodeId)
    },
    stage: (source) => register.blobs.stage(source),
    drop: (staged) => staged.drop(),
    async register(data, staged, caller, startUs) {
      return toModelInfo(await receiveModel(register, data, staged, caller, startUs), timeZoneMin)
    },
  }
}

function resumableUploads(
  { config, state, timeZoneMin }: ModelServicesOptions,
  uploads: Uploads,
  nodeId: string,
): ResumableUploads<UploadRecord> {
  return {
    maxBytes: config.limits.modelBytes,
    expiryS: config.modelStore.uploadExpiryS,
    lockWaitMs: LOCK_WAIT_MS,
    isClockTrusted: () => state.clock.isTrusted(),
    find: (uploadId) => uploads.find(uploadId),
    async create({ uploadId, sizeBytes, metadata, caller }) {
      const { method, data, sha256 } = metadata
      if (!isUploadMethod(method)) {
        const message = `Upload-Metadata: found the method ${method.slice(0, 100)}, expected one of ${UPLOAD_METHODS.join(', ')}`
        throw new AppError('BAD_UPLOAD', {}, { message })
      }
      const facts = { ...readUploadData(method, data, nodeId), tenantId: caller.keyName }
      await uploads.create({ uploadId, keyId: caller.keyId, sha256, sizeBytes, facts })
    },
    append: (upload, source, checksum) => uploads.append(upload, source, checksum),
    async finish(uploadId) {
      const model = await uploads.finish(uploadId)
      return { modelId: model.modelId, info: toModelInfo(model, timeZoneMin) }
    },
    remove: (uploadId) => uploads.remove(uploadId),
  }
}

async function findDownload(
  models: Rows['models'],
  blobs: BlobStore,
  modelId: string,
): Promise<Downloadable> {
  const model = await models.find(modelId)
  if (model === undefined) throw new AppError('UNKNOWN_MODEL', { model_id: modelId.slice(0, 100) })
  if (model.isDamaged) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
  return {
    sha256: model.sha256,
    sizeBytes: model.sizeBytes,
    async open(range) {
      const bytes = await blobs.open(model.sha256, range)
      if (bytes === undefined) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
      return bytes
    },
  }
}

async function readMetrics(
  rows: Rows,
  outbox: Outbox,
  damaged: () => number,
  state: State,
): Promise<Record<string, number>> {
  const [models, transfers, backlog] = await Promise.all([
    rows.models.counts(),
    rows.transfers.counts(),
    rows.transfers.backlog(),
  ])
  const oldestUs = Math.min(...backlog.map((lane) => lane.oldestUs))
  return {
    models: models.models,
    model_bytes: models.bytes,
    models_damaged: models.damaged,
    models_quarantined: models.quarantined,
    damage_found: damaged(),
    transfers_queued: transfers.queued,
    transfers_sending: transfers.sending,
    transfers_failed: transfers.failed,
    transfer_bytes_waiting: backlog.reduce((sum, lane) => sum + lane.bytes, 0),
    transfer_oldest_s: backlog.length === 0 ? 0 : Math.max(0, (state.clock.nowUs() - oldestUs) / 1e6),
    sync_open: outbox.closedReason() === null ? 1 : 0,
    ...outbox.metrics.snapshot(),
  }
}
