import { createBlobStore } from '../../files/blob-store.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { DataLayout } from '../../files/layout.js'
import { type HubFilesDeps, sweepFiles } from '../../fleet/hub/files.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import type { State } from '../../storage/state.js'
import type { ServicesOptions } from '../options.js'
import { type FleetRooms, openFleetRooms } from './rooms.js'

/** Joining, as the methods of a gateway need it: any gateway can be a hub. */
export interface HubServices extends FleetRooms {
  /** Waits for the sweep of the start. */
  settled(): Promise<void>
}

/** Opens the files that a hub keeps for its fleet; also for the command line beside a gateway. */
export function openHubFiles(
  { fleetFiles: files }: Pick<State, 'fleetFiles'>,
  { fleetFilesDir: dir, tempDir, leaseDb }: DataLayout,
  disk: DiskSpace,
): HubFilesDeps {
  const requireSpace = (bytes: number) => disk.require(bytes)
  return { files, blobs: createBlobStore({ dir, tempDir, requireSpace }), lease: createSweepLease(leaseDb) }
}

interface HubOptions extends Pick<ServicesOptions, 'layout' | 'log'> {
  readonly state: State
  readonly disk: DiskSpace
}

/** Opens the side of a hub, and removes what interrupted commands left. @param nodeId UUID of this node */
export function openHub({ state, layout, disk, log }: HubOptions, nodeId: string): HubServices {
  const files = openHubFiles(state, layout, disk)
  const swept = sweepFiles(files).catch((error: unknown) =>
    log.warn({ err: error }, 'files of profiles that no row names could not be removed'),
  )
  return { ...openFleetRooms(state, files, nodeId), settled: async () => void (await swept) }
}
