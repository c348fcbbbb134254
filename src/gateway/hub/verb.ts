import type { Config } from '../../config/config.js'
import { layoutOf } from '../../files/layout.js'
import type { HubFilesDeps } from '../../fleet/hub/files.js'
import { createByteLease } from '../../storage/postgres/leases/byte-lease.js'
import type { PostgresState } from '../../storage/postgres/state.js'
import { openHubDatabase, openHubObjects } from './connect.js'
import { requireOwnBucket } from './owner.js'
import { openHubState } from './state.js'

interface HubVerb {
  readonly state: PostgresState
  /** files of profiles */
  openFiles(): HubFilesDeps
  close(): Promise<void>
}

/** Opens a hub for one verb, beside its processes. @throws Error as `openHubServices` does */
export async function openHubVerb(config: Config, dataDir: string): Promise<HubVerb> {
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  const objects = openHubObjects(config, layout)
  const db = openHubDatabase(config)
  try {
    const { state } = await openHubState(db, config, layout)
    await requireOwnBucket(objects, state.meta)
    return {
      state,
      openFiles: () => ({
        files: state.fleetFiles,
        blobs: objects.store('fleet'),
        lease: createByteLease(db),
      }),
      async close() {
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
