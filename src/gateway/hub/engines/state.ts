import { existsSync } from 'node:fs'
import type { Config } from '../../../config/config.js'
import type { DataLayout } from '../../../files/layout.js'
import { KEY_FINGERPRINT, type Keyring, openKeyring } from '../../../storage/keyring.js'
import type { MetaStore } from '../../../storage/meta.js'
import { createMetaStore } from '../../../storage/postgres/access/meta.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { requireMigrated } from '../../../storage/postgres/connection/migrate.js'
import { requireNoMove } from '../../../storage/postgres/move/progress.js'
import { MIGRATIONS } from '../../../storage/postgres/schema/migrations.js'
import { openPostgresState, type PostgresState } from '../../../storage/postgres/state.js'

/**
 * Opens the rows of a hub that `hub init` has prepared. The database is closed with the state.
 *
 * @throws Error in one line: the schema is not prepared, or is that of a newer program, or the key file is
 *   missing or another one; AppError DATABASE_UNAVAILABLE
 */
export async function openHubState(
  db: PostgresDb,
  { session }: Pick<Config, 'session'>,
  layout: DataLayout,
): Promise<{ state: PostgresState; keyring: Keyring }> {
  await requireMigrated(db, MIGRATIONS)
  await requireNoMove(db)
  const keyring = await requireKeyring(createMetaStore(db), layout)
  return { keyring, state: await openPostgresState(db, { keyring, sessionIdleS: session.idleS }) }
}

/** @throws Error unless the key file is that of `hub init` */
async function requireKeyring(meta: MetaStore, { keyFile }: DataLayout): Promise<Keyring> {
  const noted = await meta.noted(KEY_FINGERPRINT)
  if (noted === undefined)
    throw new Error('the hub is not prepared: run `fieldgate hub init` with these settings')
  if (!existsSync(keyFile))
    throw new Error(
      `the key file ${keyFile} is missing: copy that of the process in which \`fieldgate hub init\` ran, or name its place in encryption.keyFile`,
    )
  const keyring = openKeyring(keyFile, { hasEncrypted: () => true })
  if (keyring.fingerprint === noted) return keyring
  throw new Error(
    `the key file ${keyFile} holds another key than the one of this hub: all processes of a hub need the same file`,
  )
}

/** Opens the key of a hub that is being prepared; makes it where the database knows none. */
export async function prepareKeyring(meta: MetaStore, layout: DataLayout): Promise<Keyring> {
  if ((await meta.noted(KEY_FINGERPRINT)) !== undefined) return await requireKeyring(meta, layout)
  const keyring = openKeyring(layout.keyFile, { hasEncrypted: () => false })
  await meta.note(KEY_FINGERPRINT, keyring.fingerprint)
  return keyring
}
