import { randomUUID } from 'node:crypto'
import type { FlContext } from '../../../api/fl/index.js'
import type { ModelStoreContext } from '../../../api/model-store/index.js'
import type { Config } from '../../../config/config.js'
import type { DiskSpace } from '../../../files/disk-space.js'
import type { DataLayout } from '../../../files/layout.js'
import { createPartFiles } from '../../../files/part-files.js'
import type { S3Store } from '../../../files/s3/store.js'
import type { UploadPieces } from '../../../files/s3/upload-pieces.js'
import type { ModelDownload } from '../../../http/model-files/download.js'
import type { Log } from '../../../log.js'
import { findModelFile, findSignature } from '../../../models/download.js'
import { keepNewest } from '../../../models/keep-newest.js'
import { withNameCheck } from '../../../models/limited-stores.js'
import { createPins, type Pins } from '../../../models/pins.js'
import type { RegisterDeps } from '../../../models/register-model.js'
import { BUNDLE_MEDIA_TYPE } from '../../../models/signature/bundle.js'
import { sweepBlobs } from '../../../models/sweep.js'
import { quarantine } from '../../../models/upkeep.js'
import { createUploads } from '../../../models/uploads.js'
import type { UploadPieceRows } from '../../../storage/postgres/models/upload-pieces.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import type { SweepLease } from '../../../storage/work/sweep-lease.js'
import { FL_PATH, MODEL_STORE_PATH } from '../../../sync/peer.js'
import { announce, modelUploads, peerFacts, resumableUploads } from '../../exchange/model-files.js'
import { signaturePolicy } from '../../exchange/models.js'
import { createNameLimit } from '../../rows/name-limit.js'
import { notOnHub } from '../apis.js'
import { sharedParts } from './shared-parts.js'
import { sweepPieces } from './sweep-pieces.js'

interface HubModelsOptions {
  /** with `sync.deltas` off: a hub takes whole models */
  readonly config: Config
  readonly layout: DataLayout
  readonly log: Log
  readonly state: PostgresState
  readonly disk: DiskSpace
  readonly blobs: S3Store
  readonly pieces: UploadPieces
  readonly pieceRows: UploadPieceRows
  readonly lease: SweepLease
  readonly nodeId: string
  readonly timeZoneMin: number
}

/** Time for which a link to bytes in the store holds, s: to begin a download, which may then take its time. */
const LINK_S = 300

/** The model store of a hub. */
export interface HubModels {
  readonly context: ModelStoreContext & Pick<FlContext, 'announceUpload'>
  readonly uploads: ReturnType<typeof modelUploads>
  readonly resumableUploads: ReturnType<typeof resumableUploads>
  /** Finds the bytes of a model. @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED */
  findFile(modelId: string): Promise<ModelDownload>
  findSignature(modelId: string): Promise<{ bundle: string; mediaType: string }>
  discoverFacts(path: string): object
  /** Removes idle uploads, models beyond `retention.modelsKept`, and bytes that no row names. One process does it. */
  sweep(): Promise<void>
  /** Removes files of uploads that have ended at another process. Each process does it. */
  tidy(): Promise<void>
  close(): Promise<void>
}

/** Opens the model store of a hub. */
export function openHubModels(options: HubModelsOptions): HubModels {
  const { config, layout, log, state, disk, blobs, timeZoneMin, nodeId } = options
  const { clock } = state
  const requireSpace = (bytes: number) => disk.require(bytes)
  const names = createNameLimit(config.limits.nameChars)
  const { autoCreate, location, maxOpenUploads, uploadExpiryS } = config.modelStore
  const checkName = (name: string) => names.check('model_store_ddc', name)
  const stores = withNameCheck(state.modelStores, checkName, autoCreate)
  const signatures = signaturePolicy(config)
  const register: RegisterDeps = {
    ...{ models: state.models, stores, blobs, nodeId, clock, location, autoCreate, signatures },
    pins: sharedPins(options.lease, log),
    newId: randomUUID,
    pushStates: new Set(), // nothing goes further up from here
    onQueued: () => undefined,
  }
  const { pieces } = options
  const shared = sharedParts({
    ...{ parts: createPartFiles(layout.partsDir), pieces, log },
    ...{ uploads: state.uploads, rows: options.pieceRows },
  })
  const uploads = createUploads({
    ...{ ...register, requireSpace, parts: shared.parts, tempDir: layout.tempDir, uploads: shared.uploads },
    work: { make: noDeltas, apply: noDeltas },
    maxOpenPerKey: maxOpenUploads,
  })
  const upkeep = { ...register, log, onDamaged: () => undefined }
  const files = { config, clock, timeZoneMin, register, uploads, newId: randomUUID, requireSpace }
  return {
    context: {
      models: state.models,
      modelStores: { ...state.modelStores, create: stores.create },
      timeZoneMin,
      clock,
      signatures,
      announceUpload: (announced, caller) => announce(files, announced, caller),
    },
    uploads: modelUploads(files),
    resumableUploads: resumableUploads(files),
    async findFile(modelId) {
      const report = (sha256: string, reason: string) => quarantine(upkeep, sha256, reason)
      const file = await findModelFile(state.models, blobs, modelId, report)
      const presign = config.hub.presign ? () => blobs.presign(file.sha256, LINK_S) : undefined
      return { ...file, findDelta: async () => undefined, presign }
    },
    findSignature: async (modelId) => ({
      bundle: await findSignature(state.models, modelId),
      mediaType: BUNDLE_MEDIA_TYPE,
    }),
    discoverFacts: (path) => (path === FL_PATH || path === MODEL_STORE_PATH ? peerFacts(nodeId, config) : {}),
    async sweep() {
      if (clock.isTrusted()) await uploads.removeIdle(clock.nowUs() - uploadExpiryS * 1_000_000, () => false)
      await keepNewest({ models: state.models, log }, config.retention.modelsKept)
      await sweepPieces(pieces, state.uploads, clock.nowUs() / 1000)
      const { removed, held } = await sweepBlobs(register)
      if (removed > 0) log.info({ removed }, 'bytes of models that no row names removed')
      if (held > 0)
        log.warn({ held }, 'bytes that no model names stay: they are too many for the rest of cut-off calls')
    },
    tidy: shared.tidy,
    close: () => uploads.settle(),
  }
}

/** Pins that hold for all processes: while one is held, no process removes bytes. */
function sharedPins(lease: SweepLease, log: Log): Pins {
  const pins = createPins(lease)
  return {
    ...pins,
    async pin(sha256) {
      const unpin = await pins.pin(sha256)
      const release = await lease.keep()
      return () => {
        unpin()
        release().catch((error: unknown) =>
          log.error(
            { err: error, sha256 },
            'bytes of a model may have been removed: `fieldgate hub doctor` looks for them',
          ),
        )
      }
    },
  }
}

async function noDeltas(): Promise<never> {
  throw notOnHub('deltas of models')
}
