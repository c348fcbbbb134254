import { randomUUID } from 'node:crypto'
import type { CallContext } from '../../api/context.js'
import type { AuthStores } from '../../auth/authenticate.js'
import { parseOffset } from '../../datetime.js'
import { messageOf } from '../../errors.js'
import { createDiskSpace, type DiskSpace } from '../../files/disk-space.js'
import { probeWrite } from '../../files/write-probe.js'
import { sweepFiles } from '../../fleet/hub/files.js'
import type { PartState } from '../../http/health-routes.js'
import type { SharedAllowances } from '../../http/rate-limit.js'
import type { Keyring } from '../../storage/keyring.js'
import { createAllowanceRows } from '../../storage/postgres/access/allowances.js'
import type { PostgresDb } from '../../storage/postgres/connection/database.js'
import type { WriteHints } from '../../storage/postgres/connection/write-hints.js'
import { createFeedIdentity } from '../../storage/postgres/feeds/identity.js'
import { createByteLease } from '../../storage/postgres/leases/byte-lease.js'
import { createFence, type Fence } from '../../storage/postgres/leases/fence.js'
import { createLeases } from '../../storage/postgres/leases/lease.js'
import { createUploadPieceRows } from '../../storage/postgres/models/upload-pieces.js'
import type { PostgresState } from '../../storage/postgres/state.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import type { Readers } from '../../worker/reader-pool.js'
import { type FleetRooms, openFleetRooms } from '../fleet/rooms.js'
import { startHousekeeping, withPromptCleaning } from '../health/housekeeping.js'
import type { ServicesOptions } from '../options.js'
import { authStores } from '../sign-in.js'
import type { HubContext } from './apis.js'
import { type HubDatasets, openHubDatasets } from './datasets/datasets.js'
import { type HubObjects, openHubDatabase, openHubHints, openHubObjects } from './engines/connect.js'
import { bucketOwner, requireOwnBucket } from './engines/owner.js'
import { openHubState } from './engines/state.js'
import { createHubReadiness } from './health/readiness.js'
import { startLeaderTasks } from './leader.js'
import { type HubModels, openHubModels } from './models/models.js'
import { type HubFeeds, openHubFeeds } from './rows/feeds.js'
import { type HubRetention, openHubRetention } from './rows/retention.js'
import { type HubTables, openHubTables } from './rows/tables.js'
import { type HubSearch, openHubSearch } from './search.js'

/** Parts of a hub process that outlive a request. */
export interface HubServices {
  readonly state: PostgresState
  readonly stores: AuthStores
  readonly disk: DiskSpace
  /** allowances of callers over all processes */
  readonly allowances: SharedAllowances
  readonly models: HubModels
  readonly loading: HubTables
  readonly feeds: HubFeeds
  readonly retention: HubRetention
  readonly search: HubSearch
  readonly findFleetFile: FleetRooms['findFile']
  /** context of every call, without what belongs to one call */
  readonly shared: Omit<HubContext, keyof CallContext>
  readiness(): Promise<PartState[]>
  /** ends running work, then closes the database */
  close(): Promise<void>
}

/**
 * Opens the rows and the bytes of a hub, and waits until the maps of this process are loaded.
 *
 * @throws Error in one line: the hub is not prepared, or bucket and database do not belong together; AppError
 *   DATABASE_UNAVAILABLE, OBJECTS_UNAVAILABLE
 */
export async function openHubServices(options: ServicesOptions): Promise<HubServices> {
  const { config, layout, log } = options
  const objects = openHubObjects(config, layout)
  const fence = createFence(openHubDatabase(config, log))
  const { db } = fence
  let opened: HubServices | undefined
  try {
    const { state, keyring } = await openHubState(db, config, layout)
    await requireOwnBucket(objects, state.meta)
    const nodeId = await state.meta.claimNodeId(randomUUID())
    const lease = createByteLease(db)
    const datasets = await openHubDatasets({
      ...{ objects, db, lease, layout, keyring, log, config, meta: state.meta },
      timeZoneMin: parseOffset(config.service.timeZone) ?? 0,
      nowUs: () => state.clock.nowUs(),
    })
    opened = openParts({ ...options, objects, fence, db, lease, state, keyring, nodeId, datasets })
    await opened.search.maps.reload()
    return opened
  } catch (error) {
    await opened?.close()
    objects.close()
    await db.close()
    throw error
  }
}

interface PartsOptions extends ServicesOptions {
  readonly objects: HubObjects
  /** that of `db` */
  readonly fence: Fence
  readonly db: PostgresDb
  readonly lease: SweepLease
  readonly state: PostgresState
  readonly keyring: Keyring
  readonly nodeId: string
  readonly datasets: HubDatasets
}

function openParts(options: PartsOptions): HubServices {
  const { config, log, layout, objects, fence, db, state, datasets } = options
  const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const hints = openHubHints(config, log)
  const { models, loading, retention, feeds, search, fleet, files } = openRooms({
    ...options,
    disk,
    hints,
    timeZoneMin,
  })
  const allowances = createAllowanceRows(db)
  const housekeep: typeof state.housekeep = async (...rest) => {
    await state.housekeep(...rest)
    await models.tidy()
  }
  const housekeeping = startHousekeeping({ ...state, housekeep }, async () => true, log)
  const leader = startLeaderTasks({
    leases: createLeases(fence, { holder: randomUUID(), lastsMs: LEASE_MS }),
    log,
    tasks: [
      {
        name: 'sweep of files and datasets',
        everyMs: SWEEP_MS,
        run: () => inTurn([() => sweepFiles(files), () => loading.loader.sweepFiles(), datasets.sweep]),
      },
      { name: 'sweep of models', everyMs: config.modelStore.sweepMinutes * 60_000, run: models.sweep },
      { name: 'sweep of allowances', everyMs: ALLOWANCE_SWEEP_MS, run: allowances.sweep },
      ...retention.tasks,
    ],
  })
  return {
    ...{ state, disk, allowances, models, loading, retention, feeds, search },
    stores: authStores(state),
    findFleetFile: fleet.findFile,
    shared: {
      ...{ ...models.context, ...feeds.context, ...fleet.context },
      loader: loading.loader,
      retention: retention.context,
      searcher: search.searcher,
      readers: withDatasets(loading.readers, datasets),
      datasets: datasets.datasets,
      membership: { find: async () => undefined }, // a hub on engines joins no other
      hubContact: async () => null,
      sessions: withPromptCleaning(state.sessions, housekeeping),
      newId: randomUUID,
      ...{ config, timeZoneMin, log },
    },
    readiness: createHubReadiness({
      ...{ log, disk },
      reserveBytes: config.limits.diskReserveBytes,
      probeDatabase: state.probeWrite,
      probeObjects: async () => void (await bucketOwner(objects)),
      probeFile: () => probeWrite(layout.tempDir),
      writeFault: housekeeping.fault,
      isClockTrusted: () => state.clock.isTrusted(),
      searcher: search.searcher,
      mapFaults: search.maps.faults,
    }),
    async close() {
      feeds.stop()
      await hints.close()
      await search.searcher.stop()
      await loading.readers.stop()
      await leader.stop()
      await models.close()
      await datasets.close()
      await housekeeping.stop()
      await state.close()
      objects.close()
    },
  }
}

/** Reads of datasets go to what a move has brought, all others to the tables of the hub. */
function withDatasets(tables: Readers, { readers }: HubDatasets): Readers {
  return {
    read: (name, payload, options) =>
      (name.startsWith('dataset.') ? readers : tables).read(name, payload, options),
  }
}

/** Opens what the methods and routes of a hub use. */
function openRooms(
  options: PartsOptions & {
    readonly disk: DiskSpace
    readonly hints: WriteHints
    readonly timeZoneMin: number
  },
) {
  const { config, log, objects, db, lease, state, keyring, nodeId, disk, hints, timeZoneMin, version } =
    options
  const models = openHubModels({
    ...options,
    config: { ...config, sync: { ...config.sync, deltas: false } },
    blobs: objects.store('models'),
    pieces: objects.uploadPieces(),
    pieceRows: createUploadPieceRows(db, state.clock),
  })
  const files = { files: state.fleetFiles, blobs: objects.store('fleet'), lease }
  const loading = openHubTables({
    ...{ config, log, db, keyring, disk, lease, hints, timeZoneMin, version },
    files: objects.store('files'),
    nowUs: () => state.clock.nowUs(),
  })
  const identity = createFeedIdentity(db, (error) =>
    log.debug({ err: error }, 'changes of the database could not be counted'),
  )
  const retention = openHubRetention({ log, db, state, loading, hints, identity })
  const feeds = openHubFeeds({ ...options, loading, identity })
  const search = openHubSearch(options, loading.context)
  return { models, files, loading, retention, feeds, search, fleet: openFleetRooms(state, files, nodeId) }
}

/**
 * Runs sweeps one after the other: each holds the lease under which bytes are removed, and one that finds it taken does
 * nothing.
 *
 * @throws what one of them throws, after all
 */
async function inTurn(sweeps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const faults: unknown[] = []
  for (const sweep of sweeps)
    try {
      await sweep()
    } catch (error) {
      faults.push(error)
    }
  if (faults.length > 0) throw new AggregateError(faults, faults.map(messageOf).join('; '))
}

/** Time of a lease without a renewal, ms. */
const LEASE_MS = 60_000
/** Time between two removals of allowances that are full, ms. */
const ALLOWANCE_SWEEP_MS = 600_000
/** Time between two sweeps of bytes, ms. */
const SWEEP_MS = 3_600_000
