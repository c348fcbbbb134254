import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { CallContext } from '../api/context.js'
import type { AuthStores } from '../auth/authenticate.js'
import type { BackupSchedule } from '../backup/schedule.js'
import type { Config } from '../config.js'
import { bulkWorkBy } from '../datasets/jobs.js'
import { parseOffset } from '../datetime.js'
import { createDiskSpace, type DiskSpace } from '../files/disk-space.js'
import { type DataLayout, mapFiles } from '../files/layout.js'
import type { PartState } from '../http/routes.js'
import type { Log } from '../log.js'
import { openKeyring } from '../storage/keyring.js'
import type { SessionStore } from '../storage/sqlite/access/session.js'
import { openState, type State } from '../storage/sqlite/access/state.js'
import { type Db, statement } from '../storage/sqlite/connection/database.js'
import { createDatasetStore, type DatasetStore } from '../storage/sqlite/datasets/store.js'
import {
  createDatasetTables,
  type DatasetTablesOptions,
  withDatasets,
} from '../storage/sqlite/datasets/table.js'
import { createFeatureSources, type FeatureSources } from '../storage/sqlite/features/source.js'
import type { TableReader } from '../storage/tables.js'
import { createWorkerClient, type WorkerClient } from '../worker/client.js'
import type { GatewayContext } from './apis.js'
import { openBackups } from './backups.js'
import {
  type DataprocServices,
  type DataprocServicesOptions,
  openDataprocServices,
} from './dataproc-services.js'
import { type LoaderServices, openLoaderServices } from './loader-services.js'
import { type ModelServices, openModelServices } from './model-services.js'
import { createNameLimit } from './name-limit.js'
import { createReadiness } from './readiness.js'
import { startWorker, type WorkerRole } from './workers/start.js'

const HOUSEKEEP_EVERY_MS = 60_000
/** The job worker ends when it had nothing to do for so long. */
const JOB_IDLE_MS = 30_000
/** Bulk jobs make short-lived objects only: V8's own choice would keep 90 MB for them, which a board cannot spare. */
const JOB_YOUNG_MB = 12
/** Bulk jobs that may wait; they take turns at the write lock anyway. */
const MAX_JOBS = 32

export interface ServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  /** file that worker threads run: this program itself */
  workerEntry: string
  version: string
  /** the settings file, for backups; absent when there is none */
  configFile?: string | null
}

/** Everything that outlives a request, opened once. */
export interface Services {
  readonly state: State
  readonly stores: AuthStores
  /** the searches' thread, there from the first map or search on */
  readonly searcher: WorkerClient
  /** the bulk jobs' thread, started on demand */
  readonly jobs: WorkerClient
  readonly models: ModelServices
  readonly loading: LoaderServices
  /** tables, datasets and citations as features */
  readonly features: FeatureSources
  /** backups that the gateway makes by itself; `status` is for health and metrics */
  readonly backups: BackupSchedule
  /** the context of every call, less what belongs to one */
  readonly shared: Omit<GatewayContext, keyof CallContext>
  readonly disk: DiskSpace
  readiness(): Promise<PartState[]>
  /** looks for map files again; what cannot be used is told in the log and by `readiness` */
  reloadMaps(): Promise<void>
  close(): Promise<void>
}

/** What the search worker tells after it looked for map files. */
interface ReloadedMaps {
  maps: string[]
  faults: { file: string; message: string }[]
}

/** Opens the databases and the threads of a gateway. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { config, layout, log } = options
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const state = await openState(layout.stateDb)
  const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
  const keyring = openKeyring(layout.keyFile)
  const { searcher, jobs } = startWorkers(options)
  const nowUs = () => state.clock.nowUs()
  const loading = await openLoaderServices({ ...options, timeZoneMin, disk, keyring, jobs, nowUs })
  const datasets = openDatasets(config, {
    ...{ data: loading.data, log, nowUs, newId: randomUUID, timeZoneMin, keyring },
    pageRows: config.limits.pageRows,
    readFile: loading.readFile,
    bulk: bulkWorkBy(jobs),
    requireSpace: (bytes) => disk.require(bytes),
  })
  const models = await openModelServices({ ...options, state, keyring, disk, timeZoneMin })
  const { dataproc, sessions, housekeeping } = await openSessionKeeping({
    ...{ ...options, state, disk, jobs, models, timeZoneMin, nowUs },
    data: loading.data,
  })
  const shared: Services['shared'] = {
    ...models.context,
    ...dataproc.context,
    sessions,
    searcher,
    tables: allTables(loading, { timeZoneMin, pageRows: config.limits.pageRows, nowUs }),
    loader: loading.loader,
    datasets,
    clock: state.clock,
    newId: randomUUID,
    config,
    timeZoneMin,
    log,
  }
  const maps = createMapReload(options, searcher)
  await maps.reload()
  const backups = openBackups(options, state)
  return {
    state,
    stores: authStores(state),
    searcher,
    jobs,
    models,
    loading,
    features: createFeatureSources(loading.data.reader, {
      ...{ tables: loading.tables, timeZoneMin, keyring, nowUs },
      pageRows: config.limits.pageRows,
    }),
    backups,
    shared,
    disk,
    readiness: readinessOf(options, { state, loading, disk, searcher, models, maps, housekeeping }),
    reloadMaps: maps.reload,
    async close() {
      await dataproc.close()
      await housekeeping.stop()
      await backups.stop()
      await models.close()
      const datasetsClosed = datasets.close()
      await Promise.all([searcher.stop(), jobs.stop()]) // a checksum under way fails with its thread
      await datasetsClosed
      loading.close()
      await state.close()
    },
  }
}

function allTables({ tables, data }: LoaderServices, options: DatasetTablesOptions): TableReader {
  return withDatasets(tables, createDatasetTables(data.reader, options))
}

function readinessOf(
  { config, layout }: ServicesOptions,
  parts: Pick<Services, 'state' | 'loading' | 'disk' | 'searcher' | 'models'> & {
    maps: ReturnType<typeof createMapReload>
    housekeeping: ReturnType<typeof startHousekeeping>
  },
): Services['readiness'] {
  const { state, loading, disk, searcher, models, maps, housekeeping } = parts
  return createReadiness({
    databases: [
      { file: layout.stateDb, read: () => readSchema(state.stateDb.db) },
      { file: layout.dataDb, read: () => readSchema(loading.data.reader) },
    ],
    writeFault: housekeeping.fault,
    disk,
    reserveBytes: config.limits.diskReserveBytes,
    searcher,
    mapFaults: maps.faults,
    syncStatus: models.status,
    isClockTrusted: () => state.clock.isTrusted(),
  })
}

/** Looks for map files, at the start and when asked again, and keeps what was wrong with them. */
function createMapReload({ config, layout, log }: ServicesOptions, searcher: WorkerClient) {
  let mapFaults: readonly string[] = []
  return {
    faults: () => mapFaults,
    async reload() {
      // without a map the thread starts with the first search: it costs a board 10 MB and a tenth of a second
      if (!searcher.wasStarted() && config.routing.maps.length + mapFiles(layout).length === 0) return
      const { maps, faults } = await searcher.call<ReloadedMaps>('reload', null)
      // names alone: `/readyz` is open to everybody
      mapFaults = faults.map(({ file, message }) => `${path.basename(file)}: ${message}`)
      if (faults.length === 0) log.info({ maps }, 'maps are loaded')
      else log.warn({ maps, faults }, 'maps are loaded, save for some')
    },
  }
}

/** Modules, and what goes when a session ends: at once when it is closed, else with the next round. */
async function openSessionKeeping({
  state,
  ...options
}: Omit<DataprocServicesOptions, 'sessions'> & { state: State }) {
  const { sessions } = state
  const dataproc = await openDataprocServices({ ...options, sessions })
  const housekeeping = startHousekeeping(state, dataproc, options.log)
  const closing: SessionStore = {
    ...sessions,
    async close(tokenHash) {
      await sessions.close(tokenHash)
      housekeeping.ask()
    },
  }
  return { dataproc, sessions: closing, housekeeping }
}

/**
 * Once a minute, at the start, and when it is asked for: what is batched is written, what belongs to ended sessions goes, and
 * acts that command lines noted come into the log.
 */
function startHousekeeping(state: State, { endSession }: DataprocServices, log: Log) {
  let fault: string | null = null
  let isAsked = false
  if (!state.clock.isTrusted())
    log.warn('the wall clock stands before the last recorded time: nothing expires until it is set right')
  const tell = ({ act, ...facts }: { act: string }) =>
    log.info({ audit: true, act, ...facts }, 'an act of the command line')
  const housekeep = async () => {
    isAsked = false
    try {
      await state.housekeep(endSession)
      await state.audit.handOver(tell)
      fault = null
    } catch (error) {
      fault = 'the last round of housekeeping failed; the log tells why'
      log.error({ err: error }, 'housekeeping failed')
    }
  }
  let running = housekeep()
  const ask = () => {
    if (isAsked) return // the round that waits will see to it
    isAsked = true
    running = running.then(housekeep)
  }
  const timer = setInterval(ask, HOUSEKEEP_EVERY_MS)
  return {
    ask,
    fault: () => fault,
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

function openDatasets({ limits }: Config, options: Parameters<typeof createDatasetStore>[0]): DatasetStore {
  const datasets = createDatasetStore(options)
  const names = createNameLimit(limits.nameChars)
  return {
    ...datasets,
    async create(definition) {
      names.check('dataset_name', definition.name)
      return await datasets.create(definition)
    },
    async cite(label, source) {
      names.check('citation_label', label)
      return await datasets.cite(label, source)
    },
  }
}

function authStores({ keys, sessions }: State): AuthStores {
  return {
    findKey: (keyId) => keys.findActive(keyId),
    findSession: (tokenHash) => sessions.findOpen(tokenHash),
    noteUse: (keyId) => keys.noteUse(keyId),
  }
}

function startWorkers(options: ServicesOptions): Pick<Services, 'searcher' | 'jobs'> {
  const { config, log } = options
  const searcher = createWorkerClient({
    spawn: () => spawn(options, 'search'),
    log,
    maxPending: config.routing.maxQueue,
  })
  const jobs = createWorkerClient({
    spawn: () => spawn(options, 'job'),
    log,
    maxPending: MAX_JOBS,
    idleMs: JOB_IDLE_MS,
  })
  return { searcher, jobs }
}

function spawn(options: ServicesOptions, role: WorkerRole): Worker {
  const { config, layout } = options
  return startWorker(options.workerEntry, role, {
    workerData: { role, config, layout },
    name: `fieldgate-${role}`,
    ...(role === 'job' ? { resourceLimits: { maxYoungGenerationSizeMb: JOB_YOUNG_MB } } : {}),
  })
}

/** A page of the file, not of the cache's making. @throws Error when the database cannot be read */
function readSchema(db: Db): unknown {
  return statement(db, 'SELECT count(*) FROM sqlite_schema').get()
}
