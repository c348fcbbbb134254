import { AppError, isAppError } from '../errors.js'
import type { DiskSpace } from '../files/disk-space.js'
import { unknownStore } from '../models/faults.js'
import { type RegisterDeps, type RegisteredModels, registerModels } from '../models/register-model.js'
import type { RowStates } from '../storage/datasets/citations.js'
import { unknownDataset } from '../storage/datasets/datasets.js'
import type { ModelStores } from '../storage/models/model-stores.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { WriteLock } from '../storage/work/write-lock.js'
import type { SlotQuery } from './call.js'
import type { DataprocWork } from './jobs.js'
import { isUuid } from './layout.js'
import type { InputModel, OutputModel, RunStores } from './run-data.js'

interface RunStoresOptions {
  readonly states: RowStates
  /** held while another thread writes rows */
  readonly lock: WriteLock
  readonly work: DataprocWork
  readonly models: RegisterDeps
  /** finds stores without creating them */
  readonly stores: Pick<ModelStores, 'find'>
  readonly disk: Pick<DiskSpace, 'require'>
  /** Returns a model as `model_store.model.get_info` describes it. */
  toModelInfo(model: ModelRecord): object
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** µs UTC */
  nowUs(): number
  /** most models of one input */
  readonly maxModels: number
  readonly maxModelBytes: number
}

/** Opens the tables, datasets and models that runs read and write. */
export function createRunStores(options: RunStoresOptions): RunStores {
  const { states, lock, work, models, stores, disk, nowUs, maxModels, maxModelBytes } = options
  return {
    maxModels,
    maxModelBytes,
    async sourceKind(name) {
      const state = await states.find(name, nowUs())
      if (state === undefined) throw unknownDataset(name)
      return state.kind
    },
    exportInputs: (items, signal) => work.exportInputs(items, nowUs(), signal),
    listModels: (store, query, path) => listModels(options, store, query, path),
    async requireStore(store) {
      if (models.autoCreate || (await stores.find(store)) !== undefined) return
      throw unknownStore(store)
    },
    stage: (bytes) => models.blobs.stage(bytes),
    async putBack(items, outputs, signal) {
      await disk.require(0)
      const registration = createRegistration(models, outputs)
      try {
        if (signal.aborted) throw new AppError('CANCELLED')
        if (items.length === 0) await registration.register()
        else await lock.run(() => work.putOutputs(items, nowUs(), registration.register, signal))
      } catch (error) {
        await registration.undo()
        throw error
      }
      registration.announce()
    },
    requireSpace: (bytes) => disk.require(bytes),
  }
}

/** Registers models while the rows are written and not yet committed: both are kept, or neither. */
function createRegistration(models: RegisterDeps, outputs: readonly OutputModel[]) {
  let isStarted = false
  let registered: RegisteredModels | undefined
  return {
    async register() {
      isStarted = true
      if (outputs.length === 0) return
      registered = await registerModels(
        models,
        outputs.map((output) => ({ staged: output.staged, facts: factsOf(output) })),
      )
    },
    async undo() {
      if (!isStarted) for (const { staged } of outputs) await staged.drop()
      for (const { modelId } of registered?.models ?? []) await models.models.remove(modelId)
    },
    announce: () => registered?.announce(),
  }
}

function factsOf(output: OutputModel) {
  const { store, kind, description, meta, round, keyName, startUs, isAggregated, signature } = output
  return {
    store,
    kind,
    description,
    meta,
    round,
    tenantId: keyName,
    startUs,
    state: isAggregated ? (30 as const) : (10 as const),
    origin: null,
    hopCount: 0,
    chain: [],
    ...(signature === undefined ? {} : { signature }),
  }
}

async function listModels(
  { models, stores, toModelInfo, timeZoneMin, nowUs }: RunStoresOptions,
  name: string,
  { query, order, limit, offset }: SlotQuery,
  path: string,
): Promise<InputModel[]> {
  const store = await stores.find(name)
  if (store === undefined) throw unknownStore(name)
  const env = { timeZoneMin, nowUs: BigInt(nowUs()) }
  try {
    const found = await models.models.list(store.storeId, { conds: query, order, limit, offset, env })
    return found.map((model) => toInputModel(models, model, toModelInfo(model)))
  } catch (error) {
    throw isAppError(error) ? atInput(error, path) : error
  }
}

/** Returns the error of a list with the place of its condition in the params of `dataproc.exec`. */
function atInput(error: AppError, path: string): AppError {
  const moved = (text: string) =>
    text.replaceAll('$.conds', `${path}.query`).replaceAll('$.order', `${path}.order`)
  const { path: found } = error.data
  const data = typeof found === 'string' ? { ...error.data, path: moved(found) } : error.data
  return new AppError(error.errorName, data, { message: moved(error.message) })
}

function toInputModel({ blobs }: RegisterDeps, model: ModelRecord, info: object): InputModel {
  const { modelId, sha256, sizeBytes } = model
  if (!isUuid(modelId)) throw new Error(`found the model id ${modelId}, expected a UUID`)
  return {
    modelId,
    sizeBytes,
    info,
    async open() {
      const bytes = model.isDamaged ? undefined : await blobs.open(sha256)
      if (bytes === undefined) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
      return bytes
    },
  }
}
