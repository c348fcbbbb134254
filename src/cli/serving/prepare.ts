import { randomBytes, randomUUID } from 'node:crypto'
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

/** Creates the data directory, the node id and the first admin key, each only if it is missing. */
export async function prepareDataDir(layout: DataLayout): Promise<Prepared> {
  makeDirectories(layout)
  const state = await openState(layout.stateDb)
  try {
    const nodeId = await state.meta.claimNodeId(randomUUID())
    const { apiKey, secret } = newKeyPair()
    const first = { keyId: apiKey, name: 'admin', scopes: ['admin'], secretHash: hashSecret(secret) }
    const made = await state.keys.createFirst({ ...first, expiresAtUs: null })
    if (made !== undefined)
      await state.audit.note({ act: 'key-create', keyId: apiKey, keyName: first.name, scopes: 'admin' })
    return made === undefined
      ? { nodeId, apiKey: await findAdminKey(state), secret: null }
      : { nodeId, apiKey, secret }
  } finally {
    await state.close()
  }
}

/** Creates a random key id and secret. */
export function newKeyPair(): KeyPair {
  return { apiKey: randomUUID(), secret: formatSecret(randomBytes(32)) }
}

async function findAdminKey({ keys, clock }: State): Promise<string | null> {
  const active = (await keys.list()).find(
    (key) => key.scopes.includes('admin') && key.revokedAtUs === null && !clock.hasPassed(key.expiresAtUs),
  )
  return active?.keyId ?? null
}
