import { randomBytes, randomUUID } from 'node:crypto'
import { formatSecret, hashSecret } from '../../auth/secret.js'
import { type DataLayout, makeDirectories } from '../../files/layout.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'

/** A key and its secret, which is never seen again. */
export interface KeyPair {
  apiKey: string
  secret: string
}

/** What the first start of a data directory makes. */
export interface Prepared {
  nodeId: string
  /** id of the first key that may administrate; null when every such key is revoked or expired */
  apiKey: string | null
  /** of `apiKey`, when it was made just now; null otherwise */
  secret: string | null
}

/** Makes the data directory, the node id and a first admin key, each only where it is missing. */
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

export function newKeyPair(): KeyPair {
  return { apiKey: randomUUID(), secret: formatSecret(randomBytes(32)) }
}

async function findAdminKey({ keys, clock }: State): Promise<string | null> {
  const active = (await keys.list()).find(
    (key) => key.scopes.includes('admin') && key.revokedAtUs === null && !clock.hasPassed(key.expiresAtUs),
  )
  return active?.keyId ?? null
}
