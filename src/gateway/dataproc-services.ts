import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { isSea } from 'node:sea'
import type { DataprocContext } from '../api/dataproc/index.js'
import { toModelInfo } from '../api/model-store/index.js'
import type { Config } from '../config.js'
import { createModuleCatalog } from '../dataproc/catalog.js'
import { removeTree } from '../dataproc/disk-usage.js'
import { createModuleEngine } from '../dataproc/engine.js'
import { type Command, findIsolation, type Isolation } from '../dataproc/isolation.js'
import { writeIsolation } from '../dataproc/isolation-record.js'
import { dataprocWorkBy } from '../dataproc/jobs.js'
import { type DataprocLayout, isolationFile, isUuid, makeDataprocLayout } from '../dataproc/layout.js'
import { killLeftOvers } from '../dataproc/process-group.js'
import type { InputModel, OutputModel, RunStores } from '../dataproc/run-data.js'
import { createRunLogs } from '../dataproc/run-log.js'
import { createSessionDirectories, type SessionDirectories } from '../dataproc/session-directories.js'
import { createSlots } from '../dataproc/slots.js'
import { AppError, isAppError } from '../errors.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import type { Log } from '../log.js'
import { unknownStore } from '../models/faults.js'
import { type RegisteredModels, registerModels } from '../models/register-model.js'
import { unknownDataset } from '../storage/datasets.js'
import type { ModelRecord } from '../storage/models.js'
import type { SessionStore } from '../storage/sessions.js'
import { createRowStates } from '../storage/sqlite/citations/row-states.js'
import type { DataDb } from '../storage/sqlite/connection/data-db.js'
import type { WorkerClient } from '../worker/client.js'
import type { ModelServices } from './models.js'

export interface DataprocServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  data: DataDb
  disk: DiskSpace
  jobs: WorkerClient
  models: ModelServices
  sessions: SessionStore
  timeZoneMin: number
  version: string
  /** the settings file, which may hold secrets; absent when there is none */
  configFile?: string | null
  nowUs(): number
}

/** Modules that run on this device. */
export interface DataprocServices {
  readonly context: Pick<DataprocContext, 'modules' | 'version'>
  /** removes what a session has here. @returns false while a run of it goes on */
  endSession(sessionId: string): Promise<boolean>
  /** waits for runs, which the stop of the gateway has told to end */
  close(): Promise<void>
}

/** Where programs are looked for when the gateway itself was not told. */
const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Clears away what an earlier gateway left, and gets ready to run modules. */
export async function openDataprocServices(options: DataprocServicesOptions): Promise<DataprocServices> {
  const { config, layout, log, version } = options
  const { dataproc } = config
  const places = makeDataprocLayout(layout.dataprocDir, dataproc.modulesDir ?? layout.modulesDir)
  const sessions = createSessionDirectories(places)
  await clearLeftOvers(options, places, sessions)
  const catalog = createModuleCatalog(places)
  const installed = await catalog.list()
  for (const { name, faults } of installed)
    if (faults !== undefined) log.warn({ module: name, faults }, 'a module cannot be used')
  const searchPath = process.env.PATH ?? USUAL_PATH
  const isolation = isolationOnce(options, places, searchPath)
  const isEmbedded = dataproc.backend === 'embedded'
  if (dataproc.isolation === 'namespaces' && isEmbedded) await isolation()
  // nobody waits for it, but doctor can tell before the first run
  const looking = isEmbedded && installed.length > 0 ? isolation().catch(tellOf(log)) : undefined
  const engine = createModuleEngine({
    layout: places,
    catalog,
    stores: runStores(options),
    slots: createSlots(dataproc.maxConcurrent, dataproc.maxQueue),
    logs: createRunLogs(places, { maxRuns: dataproc.logRuns, maxBytes: dataproc.logBytes }),
    sessions,
    limits: { ...dataproc, timeMs: dataproc.timeLimitS * 1000 },
    node: nodeCommand(dataproc.nodePath),
    searchPath,
    isolation,
    newId: randomUUID,
    nowUs: options.nowUs,
    log,
  })
  return {
    context: { modules: { ...catalog, ...engine }, version },
    endSession: (sessionId) => sessions.remove(sessionId),
    async close() {
      await looking
      await engine.settled()
    },
  }
}

/** Processes first, so that nobody writes into what is removed. */
async function clearLeftOvers(
  { sessions, log }: DataprocServicesOptions,
  { runsDir }: DataprocLayout,
  directories: SessionDirectories,
): Promise<void> {
  const runs = new Set(await readdir(runsDir))
  if (runs.size > 0) {
    const left = await killLeftOvers((runId) => runs.has(runId))
    log.warn(
      { runs: runs.size, leftProcesses: left },
      'runs of modules that an earlier gateway began are cleared away',
    )
  }
  for (const name of runs) await removeTree(path.join(runsDir, name))
  for (const sessionId of await sessions.unknownOf(await directories.list()))
    await directories.remove(sessionId)
}

/** The single executable is no Node that takes files: it has a verb for that. */
function nodeCommand(nodePath: string | undefined): Command {
  if (nodePath !== undefined) return { file: path.resolve(nodePath), args: [] }
  return { file: process.execPath, args: isSea() ? [RUN_SCRIPT] : [] }
}

/** The verb of the single executable that runs a script; see `main.ts`. */
const RUN_SCRIPT = 'run-script'

/** What this user may read outside the data directory, and no module: backups hold every key. */
function secretPlaces({ backup, server }: Config, configFile: string | null | undefined): string[] {
  const places = [backup.dir, server.tlsKeyFile, configFile ?? undefined]
  return places.filter((place) => place !== undefined).map((place) => path.resolve(place))
}

function tellOf(log: Log) {
  return (error: unknown) => log.warn({ err: error }, 'how modules can be kept apart could not be found out')
}

/** Found out when there is a module: most gateways never run one. */
function isolationOnce(
  { config, layout, log, configFile }: DataprocServicesOptions,
  { runsDir }: DataprocLayout,
  searchPath: string,
): () => Promise<Isolation> {
  let found: Promise<Isolation> | undefined
  return () => {
    found ??= findIsolation({
      mode: config.dataproc.isolation,
      dataDir: layout.root,
      hidden: secretPlaces(config, configFile),
      scratchDir: runsDir,
      searchPath,
    }).then((isolation) => {
      const { kind, reason } = isolation
      if (reason === null) log.info({ isolation: kind }, 'how modules are kept apart')
      else log.warn({ isolation: kind, reason }, 'modules are not kept apart from other files of this user')
      try {
        writeIsolation(isolationFile(layout.dataprocDir), config.dataproc.isolation, isolation)
      } catch (error) {
        log.warn({ err: error }, 'doctor cannot be told how modules are kept apart')
      }
      return isolation
    })
    return found
  }
}

function runStores(options: DataprocServicesOptions): RunStores {
  const { config, data, disk, jobs, models, nowUs } = options
  const work = dataprocWorkBy(jobs)
  const states = createRowStates(data.reader)
  return {
    async sourceKind(name) {
      const state = await states.find(name, nowUs())
      if (state === undefined) throw unknownDataset(name)
      return state.kind
    },
    exportInputs: (items, signal) => work.exportInputs(items, nowUs(), signal),
    listModels: (store, query, at) => listModels(options, store, query, at),
    async requireStore(store) {
      if (config.modelStore.autoCreate || (await models.context.modelStores.find(store)) !== undefined) return
      throw unknownStore(store)
    },
    stage: (bytes) => models.register.blobs.stage(bytes),
    async putBack(items, outputs, signal) {
      await disk.require(0)
      const registering = createRegistering(options, outputs)
      try {
        if (signal.aborted) throw new AppError('CANCELLED')
        if (items.length === 0) await registering.register()
        else await data.lock.run(() => work.putOutputs(items, nowUs(), registering.register, signal))
      } catch (error) {
        await registering.takeBack()
        throw error
      }
      registering.announce()
    },
    requireSpace: (bytes) => disk.require(bytes),
    maxModels: config.dataproc.maxModels,
    maxModelBytes: config.limits.modelBytes,
  }
}

/** Models are registered while the rows are in place and not committed: either both are kept, or neither. */
function createRegistering({ models }: DataprocServicesOptions, outputs: readonly OutputModel[]) {
  let isBegun = false
  let registered: RegisteredModels | undefined
  return {
    async register() {
      isBegun = true
      if (outputs.length === 0) return
      registered = await registerModels(
        models.register,
        outputs.map((output) => ({ staged: output.staged, facts: factsOf(output) })),
      )
    },
    async takeBack() {
      if (!isBegun) for (const { staged } of outputs) await staged.drop()
      for (const { modelId } of registered?.models ?? []) await models.context.models.remove(modelId)
    },
    announce: () => registered?.announce(),
  }
}

function factsOf(output: OutputModel) {
  const { store, kind, description, meta, round, keyName, startUs, isAggregated } = output
  const state = isAggregated ? (30 as const) : (10 as const)
  return {
    store,
    kind,
    description,
    meta,
    round,
    tenantId: keyName,
    startUs,
    state,
    origin: null,
    hopCount: 0,
    chain: [],
  }
}

async function listModels(
  { models, timeZoneMin, nowUs }: DataprocServicesOptions,
  name: string,
  {
    query,
    order,
    limit,
    offset,
  }: { query?: unknown; order?: unknown; limit?: number | undefined; offset?: number | undefined },
  at: string,
): Promise<InputModel[]> {
  const store = await models.context.modelStores.find(name)
  if (store === undefined) throw unknownStore(name)
  const env = { timeZoneMin, nowUs: BigInt(nowUs()) }
  try {
    const found = await models.context.models.list(store.storeId, {
      conds: query,
      order,
      limit,
      offset,
      env,
    })
    return found.map((model) => toInputModel(models, model, timeZoneMin))
  } catch (error) {
    throw isAppError(error) ? placed(error, at) : error
  }
}

/** The list was made for a method whose condition stands elsewhere in its params. */
function placed(error: AppError, at: string): AppError {
  const move = (text: string) =>
    text.replaceAll('$.conds', `${at}.query`).replaceAll('$.order', `${at}.order`)
  const { path: found } = error.data
  const data = typeof found === 'string' ? { ...error.data, path: move(found) } : error.data
  return new AppError(error.errorName, data, { message: move(error.message) })
}

function toInputModel({ register }: ModelServices, model: ModelRecord, timeZoneMin: number): InputModel {
  const { modelId, sha256, sizeBytes } = model
  if (!isUuid(modelId)) throw new Error(`the model ${modelId} has an id that is no UUID`)
  return {
    modelId,
    sizeBytes,
    info: toModelInfo(model, timeZoneMin),
    async open() {
      const bytes = model.isDamaged ? undefined : await register.blobs.open(sha256)
      if (bytes === undefined) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
      return bytes
    },
  }
}
