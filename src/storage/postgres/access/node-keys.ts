import {
  type NodeKeyPair,
  type NodeKeyPairs,
  type NodeKeyRows,
  type NodeKeyUse,
  type NodePeer,
  type NodePeers,
  nodeKeyContext,
} from '../../exchange/node-keys.js'
import type { Keyring } from '../../keyring.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

interface KeyRow {
  use: NodeKeyUse
  publicKey: Buffer
  privateKey: Buffer
}

const USES = ['signing', 'exchange'] as const

/** Creates the key pairs of a hub, which all of its processes share. */
export function createNodeKeyRows(db: PostgresDb, clock: TrustedClock, keyring: Keyring): NodeKeyRows {
  const find = async (rows: Rows): Promise<NodeKeyPairs | undefined> => {
    const found = await rows.all<KeyRow>(
      'SELECT use, public_key AS "publicKey", private_key AS "privateKey" FROM node_key',
    )
    const [signing, exchange] = USES.map((use) => found.find((row) => row.use === use))
    if (signing === undefined || exchange === undefined) return undefined
    return { signing: toPair(signing, keyring), exchange: toPair(exchange, keyring) }
  }
  const insert = async (rows: Rows, pairs: Parameters<NodeKeyRows['claim']>[0]) => {
    for (const use of USES) {
      const { publicKey, privateKey } = pairs[use]
      const sealed = keyring.encrypt(Buffer.from(privateKey).toString('base64url'), nodeKeyContext(use))
      const values = [use, Buffer.from(publicKey), Buffer.from(sealed), clock.nowUs()]
      await rows.run('INSERT INTO node_key VALUES ($1, $2, $3, $4)', ...values)
    }
  }
  /** Both pairs must come from one claim, also where two processes start together. */
  const lock = (rows: Rows) => rows.run('LOCK TABLE node_key IN SHARE ROW EXCLUSIVE MODE')
  return {
    find: () => find(db.read),
    claim: (pairs) =>
      db.write(async (rows) => {
        await lock(rows)
        const known = await find(rows)
        if (known !== undefined) return known
        await insert(rows, pairs)
        return writtenRow(await find(rows))
      }),
    replace: (pairs) =>
      db.write(async (rows) => {
        await lock(rows)
        await rows.run('DELETE FROM node_key')
        await insert(rows, pairs)
      }),
  }
}

function toPair({ use, publicKey, privateKey }: KeyRow, keyring: Keyring): NodeKeyPair {
  const text = keyring.read(privateKey, nodeKeyContext(use))
  return { publicKey, privateKey: text === null ? null : Buffer.from(text, 'base64url') }
}

const SELECT_PEER = `SELECT node_id AS "nodeId", name, signing_key AS "signingKey", exchange_key AS "exchangeKey",
  relay AS "isRelay", endpoint, added_at_us AS "addedAtUs" FROM node_peer`

/** Creates the public keys of other nodes. */
export function createNodePeers(db: PostgresDb, clock: TrustedClock): NodePeers {
  const find = async (rows: Rows, nameOrId: string) =>
    nameOrId.includes('\u0000')
      ? undefined
      : await rows.get<NodePeer>(`${SELECT_PEER} WHERE name = $1 OR node_id = $1`, nameOrId)
  return {
    add({ nodeId, name, signingKey, exchangeKey, isRelay = false, endpoint = null }) {
      const addedAtUs = clock.nowUs() // one time for all attempts, by which a repeat knows its own row
      return db.write(async (rows, { isRepeat }) => {
        const added = await rows.run(
          'INSERT INTO node_peer VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING',
          ...[nodeId, name, Buffer.from(signingKey), Buffer.from(exchangeKey), isRelay, endpoint, addedAtUs],
        )
        const peer = await find(rows, nodeId)
        if (added === 1) return peer
        return isRepeat && peer?.name === name && peer.addedAtUs === addedAtUs ? peer : undefined
      })
    },
    find: (nameOrId) => find(db.read, nameOrId),
    list: () => db.read.all<NodePeer>(`${SELECT_PEER} ORDER BY name`),
    async remove(nameOrId) {
      const old = await find(db.read, nameOrId)
      if (old === undefined) return undefined
      const isRemoved = await db.write(async (rows, { isRepeat }) => {
        const removed = await rows.run('DELETE FROM node_peer WHERE node_id = $1', old.nodeId)
        return removed > 0 || isRepeat
      })
      return isRemoved ? old : undefined
    },
  }
}
