import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { isSea } from 'node:sea'
import type { DataprocContext } from '../../api/dataproc/index.js'
import { toModelInfo } from '../../api/model-store/model-info.js'
import type { Config } from '../../config/config.js'
import { type DataprocBackend, openDataprocBackend } from '../../dataproc/backend.js'
import { createModuleCatalog } from '../../dataproc/catalog.js'
import { createModuleEngine } from '../../dataproc/engine.js'
import type { Command } from '../../dataproc/isolation.js'
import { createIsolationProbe } from '../../dataproc/isolation-probe.js'
import { dataprocWorkBy } from '../../dataproc/jobs.js'
import { isolationFile, makeDataprocLayout } from '../../dataproc/layout.js'
import { removeLeftOvers } from '../../dataproc/left-overs.js'
import type { RunStores } from '../../dataproc/run-data.js'
import { createRunLogs } from '../../dataproc/run-log.js'
import { RUN_SCRIPT } from '../../dataproc/run-script.js'
import { createRunStores } from '../../dataproc/run-stores.js'
import { createSessionDirectories } from '../../dataproc/session-directories.js'
import { createSlots } from '../../dataproc/slots.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { SessionStore } from '../../storage/access/sessions.js'
import { createRowStates } from '../../storage/sqlite/citations/row-states.js'
import type { DataDb } from '../../storage/sqlite/connection/data-db.js'
import { createUpstreamClient } from '../../sync/http-client.js'
import type { WorkerClient } from '../../worker/client.js'
import type { ModelServices } from '../exchange/models.js'
import type { ServicesOptions } from '../options.js'

interface DataprocServicesOptions
  extends Pick<ServicesOptions, 'config' | 'layout' | 'log' | 'version' | 'configFile'> {
  readonly data: DataDb
  readonly disk: DiskSpace
  readonly jobs: WorkerClient
  readonly models: ModelServices
  readonly sessions: SessionStore
  readonly timeZoneMin: number
  nowUs(): number
}

/** Modules that run on this device. */
interface DataprocServices {
  readonly context: Pick<DataprocContext, 'modules' | 'version'>
  /** Removes the files of a session. @returns false while one of its runs goes on */
  endSession(sessionId: string): Promise<boolean>
  /** Waits for the runs, whose signals have fired by then. */
  close(): Promise<void>
}

/** Search path of programs when the gateway was started without one. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Removes what an earlier gateway left, and opens the modules. */
export async function openDataprocServices(options: DataprocServicesOptions): Promise<DataprocServices> {
  const { config, layout, log, version } = options
  const { dataproc } = config
  const places = makeDataprocLayout(layout.dataprocDir, dataproc.modulesDir ?? layout.modulesDir)
  const sessions = createSessionDirectories(places)
  await removeLeftOvers(places, sessions, options.sessions.unknownOf, log)
  const catalog = createModuleCatalog(places)
  const installed = await catalog.list()
  for (const { name, faults } of installed)
    if (faults !== undefined) log.warn({ module: name, faults }, 'a module cannot be used')
  const searchPath = process.env.PATH ?? DEFAULT_PATH
  const isolation = createIsolationProbe(
    {
      mode: dataproc.isolation,
      network: dataproc.network,
      needed: [places.modulesDir, process.execPath, path.resolve(dataproc.nodePath ?? process.execPath)],
      dataDir: layout.root,
      hidden: secretPlaces(config, options.configFile),
      scratchDir: places.runsDir,
      searchPath,
    },
    isolationFile(layout.dataprocDir),
    log,
  )
  const isEmbedded = dataproc.backend === 'embedded'
  if (dataproc.isolation === 'namespaces' && isEmbedded) await isolation()
  // not awaited: it makes the record for doctor before the first run
  const probing =
    isEmbedded && installed.length > 0
      ? isolation().catch((error) => log.warn({ err: error }, 'the isolation of modules cannot be probed'))
      : undefined
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
      await probing
      await engine.settled()
    },
  }
}

/** Opens the backend that runs modules elsewhere; undefined where they run here. */
export function openBackend({ dataproc, sync }: Config, version: string): DataprocBackend | undefined {
  const { backend } = dataproc
  if (backend === 'embedded') return undefined
  const client = createUpstreamClient(new URL(backend).origin, null, {
    idleTimeoutMs: dataproc.timeLimitS * 1000,
    connectTimeoutMs: dataproc.connectTimeoutS * 1000,
    maxReplyBytes: dataproc.answerBytes,
    // the operator named the address; most backends are on this machine or network
    allowPrivate: true,
    allowLoopback: true,
    caFile: sync.caFile,
    userAgent: `fieldgate/${version}`,
  })
  return openDataprocBackend(backend, client, dataproc)
}

function runStores({
  config,
  data,
  disk,
  jobs,
  models,
  timeZoneMin,
  nowUs,
}: DataprocServicesOptions): RunStores {
  return createRunStores({
    states: createRowStates(data.reader),
    lock: data.lock,
    work: dataprocWorkBy(jobs),
    models: models.register,
    stores: models.context.modelStores,
    disk,
    toModelInfo: (model) => toModelInfo(model, timeZoneMin, models.register.signatures),
    timeZoneMin,
    nowUs,
    maxModels: config.dataproc.maxModels,
    maxModelBytes: config.limits.modelBytes,
  })
}

/** Returns the command that runs .js and .ts files. The single executable has a verb for that. */
function nodeCommand(nodePath: string | undefined): Command {
  if (nodePath !== undefined) return { file: path.resolve(nodePath), args: [] }
  return { file: process.execPath, args: isSea() ? [RUN_SCRIPT] : [] }
}

/**
 * Returns files and directories outside the data directory that modules must not read: backups hold every
 * key.
 */
function secretPlaces(
  { backup, server, encryption }: Config,
  configFile: string | null | undefined,
): string[] {
  const places = [backup.dir, server.tlsKeyFile, encryption.keyFile, configFile ?? undefined]
  return places.filter((place) => place !== undefined).map((place) => path.resolve(place))
}
