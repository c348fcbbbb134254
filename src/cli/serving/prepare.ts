import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { formatSecret, hashSecret } from '../../auth/secret.js'
import { type DataLayout, makeDirectories } from '../../files/layout.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'

/** An API key and its secret, of which only the hash is stored. */
export interface KeyPair {
  apiKey: string
  secret: string
}

/** Result of preparing a data directory. */
export interface Prepared {
  nodeId: string
  /** id of the first active admin key; null when all are revoked or expired */
  apiKey: string | null
  /** secret of `apiKey` if it was created by this call; null otherwise */
  secret: string | null
}

/**
 * Creates the data directory, the node id and the first admin key, each only if it is missing.
 *
 * @param options `keepsSecret` writes the secret to `first-admin-key`, mode 0600, before the key exists: a
 *   cut-off start leaves no key that nobody knows; `acceptsLoss` creates missing databases also where they
 *   were lost
 * @throws Error in one line when `state.db` was lost
 */
export async function prepareDataDir(
  layout: DataLayout,
  { keepsSecret = false, acceptsLoss = false }: { keepsSecret?: boolean; acceptsLoss?: boolean } = {},
): Promise<Prepared> {
  makeDirectories(layout)
  const state = await openState(layout.stateDb, { acceptsLoss })
  try {
    const nodeId = await state.meta.claimNodeId(randomUUID())
    return { nodeId, ...(await createFirstKey(state, keepsSecret ? layout.firstKeyFile : null)) }
  } finally {
    await state.close()
  }
}

/**
 * Creates the first admin key where there is no key yet.
 *
 * @param file receives the secret before the key exists; null for none
 */
export async function createFirstKey(
  { keys, clock, audit }: Pick<State, 'keys' | 'clock' | 'audit'>,
  file: string | null,
): Promise<Omit<Prepared, 'nodeId'>> {
  if ((await keys.list()).length > 0) return { apiKey: await findAdminKey({ keys, clock }), secret: null }
  const { apiKey, secret } = newKeyPair()
  if (file !== null) writeFirstKey(file, { apiKey, secret })
  const first = { keyId: apiKey, name: 'admin', scopes: ['admin'], secretHash: hashSecret(secret) }
  const made = await keys.createFirst({ ...first, expiresAtUs: null })
  if (made === undefined) {
    if (file !== null) rmSync(file) // another program made one meanwhile
    return { apiKey: await findAdminKey({ keys, clock }), secret: null }
  }
  await audit.note({ act: 'key-create', keyId: apiKey, keyName: first.name, scopes: 'admin' })
  return { apiKey, secret }
}

/** Writes a key as the two headers of a request: `curl -H @FILE` sends them. */
function writeFirstKey(file: string, { apiKey, secret }: KeyPair): void {
  rmSync(file, { force: true }) // of a start that was cut off before its key existed
  const handle = openSync(file, 'wx', 0o600)
  try {
    writeSync(handle, `APIKey: ${apiKey}\nSecret: ${secret}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Creates a random key id and secret. */
export function newKeyPair(): KeyPair {
  return { apiKey: randomUUID(), secret: formatSecret(randomBytes(32)) }
}

async function findAdminKey({ keys, clock }: Pick<State, 'keys' | 'clock'>): Promise<string | null> {
  const active = (await keys.list()).find(
    (key) => key.scopes.includes('admin') && key.revokedAtUs === null && !clock.hasPassed(key.expiresAtUs),
  )
  return active?.keyId ?? null
}
