import { randomUUID } from 'node:crypto'
import type { CallContext } from '../../api/context.js'
import type { AuthStores } from '../../auth/authenticate.js'
import { parseOffset } from '../../datetime.js'
import { createDiskSpace, type DiskSpace } from '../../files/disk-space.js'
import { sweepFiles } from '../../fleet/hub/files.js'
import type { PartState } from '../../http/health-routes.js'
import type { SharedAllowances } from '../../http/rate-limit.js'
import { createAllowanceRows } from '../../storage/postgres/access/allowances.js'
import { createByteLease } from '../../storage/postgres/leases/byte-lease.js'
import { createLeases } from '../../storage/postgres/leases/lease.js'
import type { PostgresState } from '../../storage/postgres/state.js'
import { type FleetRooms, openFleetRooms } from '../fleet-rooms.js'
import { startHousekeeping, withPromptCleaning } from '../housekeeping.js'
import type { ServicesOptions } from '../options.js'
import { authStores } from '../sign-in.js'
import type { HubContext } from './apis.js'
import { openHubDatabase, openHubObjects } from './connect.js'
import { startLeaderTasks } from './leader.js'
import { type HubModels, openHubModels } from './models.js'
import { bucketOwner, requireOwnBucket } from './owner.js'
import { createHubReadiness } from './readiness.js'
import { openHubState } from './state.js'

/** Parts of a hub process that outlive a request. */
export interface HubServices {
  readonly state: PostgresState
  readonly stores: AuthStores
  readonly disk: DiskSpace
  /** allowances of callers over all processes */
  readonly allowances: SharedAllowances
  readonly models: HubModels
  readonly findFleetFile: FleetRooms['findFile']
  /** context of every call, without what belongs to one call */
  readonly shared: Omit<HubContext, keyof CallContext>
  readiness(): Promise<PartState[]>
  /** ends running work, then closes the database */
  close(): Promise<void>
}

/**
 * Opens the rows and the bytes of a hub.
 *
 * @throws Error in one line: the hub is not prepared, or bucket and database do not belong together; AppError
 *   DATABASE_UNAVAILABLE, OBJECTS_UNAVAILABLE
 */
export async function openHubServices(options: ServicesOptions): Promise<HubServices> {
  const { config, layout, log } = options
  const objects = openHubObjects(config, layout)
  const db = openHubDatabase(config, log)
  try {
    const { state } = await openHubState(db, config, layout)
    await requireOwnBucket(objects, state.meta)
    const nodeId = await state.meta.claimNodeId(randomUUID())
    const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
    const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
    const lease = createByteLease(db)
    const models = openHubModels({
      ...{ layout, log, state, disk, lease, nodeId, timeZoneMin },
      config: { ...config, sync: { ...config.sync, deltas: false } },
      blobs: objects.store('models'),
    })
    const files = { files: state.fleetFiles, blobs: objects.store('fleet'), lease }
    const fleet = openFleetRooms(state, files, nodeId)
    const allowances = createAllowanceRows(db)
    const housekeeping = startHousekeeping(state, async () => true, log)
    const leases = createLeases(db, { holder: randomUUID(), lastsMs: LEASE_MS })
    const leader = startLeaderTasks({
      leases,
      log,
      tasks: [
        { name: 'sweep of files', everyMs: SWEEP_MS, run: () => sweepFiles(files) },
        { name: 'sweep of models', everyMs: config.modelStore.sweepMinutes * 60_000, run: models.sweep },
        { name: 'sweep of allowances', everyMs: ALLOWANCE_SWEEP_MS, run: allowances.sweep },
      ],
    })
    return {
      state,
      stores: authStores(state),
      disk,
      allowances,
      models,
      findFleetFile: fleet.findFile,
      shared: {
        ...models.context,
        ...fleet.context,
        membership: { find: async () => undefined }, // a hub on engines joins no other
        hubContact: async () => null,
        sessions: withPromptCleaning(state.sessions, housekeeping),
        newId: randomUUID,
        config,
        timeZoneMin,
        log,
      },
      readiness: createHubReadiness({
        log,
        disk,
        reserveBytes: config.limits.diskReserveBytes,
        probeDatabase: state.probeWrite,
        probeObjects: async () => void (await bucketOwner(objects)),
        writeFault: housekeeping.fault,
        isClockTrusted: () => state.clock.isTrusted(),
      }),
      async close() {
        await leader.stop()
        await models.close()
        await housekeeping.stop()
        await state.close()
        objects.close()
      },
    }
  } catch (error) {
    objects.close()
    await db.close()
    throw error
  }
}

/** Time of a lease without a renewal, ms. */
const LEASE_MS = 60_000
/** Time between two removals of allowances that are full, ms. */
const ALLOWANCE_SWEEP_MS = 600_000
/** Time between two sweeps of bytes, ms. */
const SWEEP_MS = 3_600_000
