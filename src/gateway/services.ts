import { randomUUID } from 'node:crypto'
import type { CallContext } from '../api/context.js'
import type { AuthStores } from '../auth/authenticate.js'
import type { BackupSchedule } from '../backup/schedule.js'
import { parseOffset } from '../datetime.js'
import { createDiskSpace, type DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import { probeWrite } from '../files/write-probe.js'
import type { FleetAgent } from '../fleet/member/agent.js'
import type { PartState } from '../http/health-routes.js'
import type { Ingest } from '../ingest/ingest.js'
import type { Buses } from '../ingest/modbus/buses.js'
import type { LiveChanges } from '../live/changes.js'
import { makeNodeKeys } from '../node-keys/keys.js'
import { KEY_FINGERPRINT, logsUnreadable, openKeyring } from '../storage/keyring.js'
import { HAS_DATA } from '../storage/sqlite/connection/refuse-loss.js'
import { hasEncryptedValues } from '../storage/sqlite/maintenance/encrypted-values.js'
import { openState } from '../storage/sqlite/state.js'
import type { State } from '../storage/state.js'
import type { GatewayContext } from './apis.js'
import { openModules } from './automation/modules.js'
import { openBackups, openRecheck } from './backups.js'
import { createSyncThrottle, type FeedServices, openFeedServices } from './exchange/feeds.js'
import { type ModelServices, openModelServices } from './exchange/models.js'
import { startMember } from './fleet/fleet.js'
import { type HubServices, openHub } from './fleet/hub.js'
import { openOwnMembership } from './fleet/own.js'
import { type Housekeeping, startHousekeeping, withPromptCleaning } from './health/housekeeping.js'
import { createReadiness } from './health/readiness.js'
import { createLiveSettings } from './live-settings.js'
import { createMapLoading, type MapLoading } from './maps/maps.js'
import type { ServicesOptions } from './options.js'
import { openDatasets } from './rows/datasets.js'
import { openFlows } from './rows/live.js'
import type { RetentionServices } from './rows/retention.js'
import { type LoaderServices, openLoaderServices } from './rows/tables.js'
import { authStores } from './sign-in.js'
import { createThreads, type Threads, timedReaders } from './threads.js'

/** Parts of the gateway that outlive a request. */
export interface Services {
  readonly state: State
  readonly stores: AuthStores
  readonly threads: Threads
  readonly disk: DiskSpace
  readonly models: ModelServices
  readonly feeds: FeedServices
  readonly loading: LoaderServices
  readonly backups: BackupSchedule
  /** undefined where settings name no broker */
  readonly ingest: Ingest | undefined
  /** undefined where settings name no Modbus bus */
  readonly buses: Buses | undefined
  readonly live: LiveChanges
  readonly retention: RetentionServices
  readonly maps: MapLoading
  /** Finds a file of a profile, for gateways that joined. */
  readonly findFleetFile: HubServices['findFile']
  /** side of a member of a fleet */
  readonly member: FleetAgent
  /** context of every call, without what belongs to one call */
  readonly shared: Omit<GatewayContext, keyof CallContext>
  readiness(): Promise<PartState[]>
  /** ends jobs, searches and transfers, then closes the databases */
  close(): Promise<void>
}

/**
 * Opens the databases, the stores and the threads of a gateway, and waits until its maps are loaded.
 *
 * @throws Error in one line when a database is newer than this program or cannot be read
 */
export async function openServices(given: ServicesOptions): Promise<Services> {
  const live = createLiveSettings(given.config)
  const options = { ...given, config: live.config }
  const { config, layout, log } = options
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const { state, keyring } = await openKnownState(options)
  const nowUs = () => state.clock.nowUs()
  const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
  const threads = createThreads(options)
  const { searcher, jobs, writers } = threads
  const loading = await openLoaderServices({ ...options, timeZoneMin, disk, keyring, jobs, writers, nowUs })
  if ((await state.meta.noted(HAS_DATA)) === undefined) await state.meta.note(HAS_DATA, 'yes')
  const datasets = openDatasets({ ...options, loading, jobs, disk, keyring, timeZoneMin, nowUs })
  const throttle = createSyncThrottle(() => config.sync.maxBytesPerSecond)
  const models = await openModelServices({ ...options, state, disk, jobs, timeZoneMin, throttle })
  const feeds = openFeedServices({ ...options, state, loading, disk, models, throttle, timeZoneMin })
  const runs = { ...options, data: loading.data, disk, jobs, models, sessions: state.sessions, timeZoneMin }
  const dataproc = await openModules({ ...runs, state, loading, nowUs })

  const housekeeping = startHousekeeping(state, dataproc.endSession, log)
  const maps = createMapLoading(options, searcher)
  await maps.reload()
  const backups = openBackups(options, state)
  const recheck = openRecheck(options)
  const flowing = { ...options, state, loading, keyring, models, dataproc, jobs, disk, timeZoneMin }
  const flows = await openFlows(flowing)
  const opened = { state, loading, disk, threads, models, maps, housekeeping, ...flows }
  const readiness = readinessOf(options, opened)
  const parts = { ...options, state, live, models, feeds, maps, throttle, disk, timeZoneMin, readiness }
  const { hub, member, fleet } = startFleet(parts)

  return {
    ...opened,
    stores: authStores(state),
    feeds,
    findFleetFile: hub.findFile,
    backups,
    shared: {
      ...models.context,
      ...feeds.context,
      ...dataproc.context,
      ...fleet,
      sessions: withPromptCleaning(state.sessions, housekeeping),
      searcher,
      readers: timedReaders(threads.readers, nowUs),
      smallReads: loading.smallReads,
      loader: loading.loader,
      retention: flows.retention,
      datasets,
      newId: randomUUID,
      config,
      timeZoneMin,
      log,
    },
    readiness,
    member,
    close: () => closeAll({ ...opened, dataproc, hub, member, backups, recheck, feeds, datasets }),
  }
}

interface Closing
  extends Pick<
    Services,
    'state' | 'loading' | 'threads' | 'models' | 'retention' | 'ingest' | 'buses' | 'member'
  > {
  readonly dataproc: Pick<Awaited<ReturnType<typeof openModules>>, 'close'>
  readonly hub: Pick<HubServices, 'settled'>
  readonly housekeeping: Housekeeping
  readonly backups: BackupSchedule
  readonly recheck: ReturnType<typeof openRecheck>
  readonly feeds: FeedServices
  readonly datasets: ReturnType<typeof openDatasets>
}

/** Ends all that runs, then closes the databases. */
async function closeAll(parts: Closing): Promise<void> {
  const { dataproc, hub, retention, ingest, buses, member, housekeeping, backups, recheck, feeds, datasets } =
    parts
  await dataproc.close()
  await hub.settled()
  for (const part of [ingest, buses, retention, member, housekeeping, backups, recheck, feeds])
    await part?.stop()
  await parts.models.close()
  const datasetsClosed = datasets.close() // a running checksum fails with its thread
  const { searcher, jobs, writers, readers } = parts.threads
  await Promise.all([searcher, jobs, writers, readers].map((thread) => thread.stop()))
  await datasetsClosed
  parts.loading.close()
  await parts.state.close()
}

/** Starts both sides of a fleet, and opens what their methods need. */
function startFleet(options: Parameters<typeof startMember>[0]) {
  const hub = openHub(options, options.models.register.nodeId)
  const member = startMember(options)
  const own = { membership: options.state.membership, ...openOwnMembership({ ...options, member }) }
  return { hub, member, fleet: { ...hub.context, ...own } }
}

/** Opens the state with the key of earlier starts. @throws Error as `openKeyring` and `requireSameKey` do */
async function openKnownState({ config, layout, log }: ServicesOptions) {
  const keyring = openKeyring(layout.keyFile, {
    hasEncrypted: () => hasEncryptedValues(layout.root),
    onUnreadable: logsUnreadable(log),
  })
  const state = await openState(layout.stateDb, { keyring, sessionIdleS: config.session.idleS })
  await requireSameKey(state, layout, keyring.fingerprint)
  if (await makeNodeKeys(state.nodeKeys, () => !hasEncryptedValues(layout.root)))
    log.warn(
      'the keys of this node were lost with their key file: no other node knew them, and it has new ones',
    )
  return { keyring, state }
}

/**
 * Compares the key with the one of earlier starts, and notes it.
 *
 * @throws Error when values were encrypted with another key
 */
async function requireSameKey({ meta, close }: State, layout: DataLayout, found: string): Promise<void> {
  const noted = await meta.noted(KEY_FINGERPRINT)
  if (noted === found) return
  if (noted === undefined || !hasEncryptedValues(layout.root)) return await meta.note(KEY_FINGERPRINT, found)
  await close()
  throw new Error(
    `the key file ${layout.keyFile} holds another key than the one that encrypted values of ${layout.root}: put that one back, or name its place in encryption.keyFile; nothing was changed`,
  )
}

function readinessOf(
  { config, layout, diskFaults, log }: ServicesOptions,
  parts: Pick<Services, 'state' | 'loading' | 'disk' | 'threads' | 'models' | 'maps'> & {
    housekeeping: Housekeeping
  },
): Services['readiness'] {
  const { state, loading, disk, threads, models, maps, housekeeping } = parts
  return createReadiness({
    databases: [
      { file: layout.stateDb, read: state.check, write: state.probeWrite },
      { file: layout.dataDb, read: loading.data.check, write: loading.data.probeWrite },
    ],
    probeFile: () => probeWrite(layout.tempDir),
    diskFaults,
    log,
    writeFault: housekeeping.fault,
    disk,
    reserveBytes: config.limits.diskReserveBytes,
    searcher: threads.searcher,
    mapFaults: maps.faults,
    syncStatus: models.status,
    isClockTrusted: () => state.clock.isTrusted(),
  })
}
