import { randomUUID } from 'node:crypto'
import type { Config } from '../../../config/config.js'
import { layoutOf } from '../../../files/layout.js'
import type { HubFilesDeps } from '../../../fleet/hub/files.js'
import { createByteLease } from '../../../storage/postgres/leases/byte-lease.js'
import { createRetentionStore } from '../../../storage/postgres/retention/store.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import { createTableStore, createTablesContext } from '../../../storage/postgres/tables/store.js'
import type { RetentionRows } from '../../../storage/retention.js'
import type { TableStore } from '../../../storage/tables.js'
import { openHubDatabase, openHubObjects } from './connect.js'
import { requireOwnBucket } from './owner.js'
import { openHubState } from './state.js'

interface HubVerb {
  readonly state: PostgresState
  /** loader tables, and the rules by which their rows go */
  openTables(): { store: TableStore; rules: RetentionRows }
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
      openTables() {
        const context = createTablesContext(db, { writer: randomUUID() })
        const files = objects.store('files')
        const sizeOfFile = async (digest: string) => (await files.stat(digest))?.sizeBytes ?? 0
        return { store: createTableStore(context), rules: createRetentionStore(context, sizeOfFile) }
      },
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
