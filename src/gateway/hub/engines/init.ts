import { randomUUID } from 'node:crypto'
import { type DataLayout, makeDirectories } from '../../../files/layout.js'
import { makeNodeKeys } from '../../../node-keys/keys.js'
import { createMetaStore } from '../../../storage/postgres/access/meta.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { migrate, schemaExists } from '../../../storage/postgres/connection/migrate.js'
import { requireNoMove } from '../../../storage/postgres/move/progress.js'
import { MIGRATIONS } from '../../../storage/postgres/schema/migrations.js'
import { openPostgresState, type PostgresState } from '../../../storage/postgres/state.js'
import type { HubObjects } from './connect.js'
import { bucketOwner, claimBucket, claimedBucket, requireOwner } from './owner.js'
import { prepareKeyring } from './state.js'

interface PreparedHub {
  readonly nodeId: string
  /** names of the migrations that were applied now */
  readonly migrations: readonly string[]
  /** the open state; the database is closed with it */
  readonly state: PostgresState
}

/**
 * Prepares database, bucket and key file of a hub. Each step is skipped where it was done before, so that a cut-off
 * call is repeated, and an update of the program calls it again.
 *
 * @throws Error in one line when the bucket or the database belongs to another hub: nothing was changed then
 */
export async function prepareHub(
  db: PostgresDb,
  objects: HubObjects,
  layout: DataLayout,
): Promise<PreparedHub> {
  const owner = await bucketOwner(objects)
  const meta = createMetaStore(db)
  const isKnown = await schemaExists(db)
  const [known, noted] = isKnown ? [await meta.nodeId(), await claimedBucket(meta)] : []
  if (isKnown) await requireNoMove(db)
  requireOwner(objects, { owner, nodeId: known, noted })
  await objects.store('models').check()
  const migrations = await migrate(db, MIGRATIONS, () => Date.now() * 1000)
  makeDirectories(layout)
  const keyring = await prepareKeyring(meta, layout)
  const nodeId = await meta.claimNodeId(randomUUID())
  await claimBucket(objects, meta, nodeId)
  const state = await openPostgresState(db, { keyring })
  try {
    await makeNodeKeys(state.nodeKeys, () => false)
  } catch (error) {
    await state.close()
    throw error
  }
  return { nodeId, migrations, state }
}
