import {
  type NodeKeyPair,
  type NodeKeyRows,
  type NodeKeyUse,
  type NodePeer,
  type NodePeers,
  nodeKeyContext,
} from '../../exchange/node-keys.js'
import type { Keyring } from '../../keyring.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface KeyRow {
  use: NodeKeyUse
  public_key: Uint8Array
  private_key: Uint8Array
}

interface PeerRow {
  node_id: string
  name: string
  signing_key: Uint8Array
  exchange_key: Uint8Array
  added_at_us: number
  relay: number
  endpoint: string | null
}

/** Creates the key pairs of this node in `state.db`. */
export function createNodeKeyRows(state: StateDb, clock: TrustedClock, keyring: Keyring): NodeKeyRows {
  const { db } = state
  const toPair = ({ use, public_key, private_key }: KeyRow): NodeKeyPair => {
    const text = keyring.read(private_key, nodeKeyContext(use))
    return { publicKey: public_key, privateKey: text === null ? null : Buffer.from(text, 'base64url') }
  }
  const find = () => {
    const rows = statement<KeyRow>(db, 'SELECT use, public_key, private_key FROM node_key').all()
    const [signing, exchange] = (['signing', 'exchange'] as const).map((use) =>
      rows.find((row) => row.use === use),
    )
    if (signing === undefined || exchange === undefined) return undefined
    return { signing: toPair(signing), exchange: toPair(exchange) }
  }
  const insert = (pairs: Parameters<NodeKeyRows['claim']>[0]) => {
    const sql = statement(db, 'INSERT INTO node_key VALUES (?, ?, ?, ?)')
    for (const use of ['signing', 'exchange'] as const) {
      const { publicKey, privateKey } = pairs[use]
      const sealed = keyring.encrypt(Buffer.from(privateKey).toString('base64url'), nodeKeyContext(use))
      sql.run(use, Buffer.from(publicKey), Buffer.from(sealed), clock.nowUs())
    }
  }
  return {
    find: async () => find(),
    claim: (pairs) =>
      writeState(state, () => {
        const known = find()
        if (known !== undefined) return known
        insert(pairs)
        return writtenRow(find())
      }),
    replace: (pairs) =>
      writeState(state, () => {
        statement(db, 'DELETE FROM node_key').run()
        insert(pairs)
      }),
  }
}

/** Creates the public keys of other nodes in `state.db`. */
export function createNodePeers(state: StateDb, clock: TrustedClock): NodePeers {
  const { db } = state
  const find = (nameOrId: string) => {
    const row = statement<PeerRow>(db, 'SELECT * FROM node_peer WHERE name = ? OR node_id = ?').get(
      nameOrId,
      nameOrId,
    )
    return row === undefined ? undefined : toPeer(row)
  }
  return {
    add: ({ nodeId, name, signingKey, exchangeKey, isRelay = false, endpoint = null }) =>
      writeState(state, () => {
        const { changes } = statement(
          db,
          `INSERT INTO node_peer (node_id, name, signing_key, exchange_key, relay, endpoint, added_at_us)
             VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        ).run(
          ...[nodeId, name, Buffer.from(signingKey), Buffer.from(exchangeKey), isRelay ? 1 : 0, endpoint],
          clock.nowUs(),
        )
        return changes === 0 ? undefined : find(nodeId)
      }),
    find: async (nameOrId) => find(nameOrId),
    list: async () => statement<PeerRow>(db, 'SELECT * FROM node_peer ORDER BY name').all().map(toPeer),
    remove: (nameOrId) =>
      writeFreeing(state, () => {
        const old = find(nameOrId)
        if (old !== undefined) statement(db, 'DELETE FROM node_peer WHERE node_id = ?').run(old.nodeId)
        return old
      }),
  }
}

function toPeer(row: PeerRow): NodePeer {
  return {
    nodeId: row.node_id,
    name: row.name,
    signingKey: row.signing_key,
    exchangeKey: row.exchange_key,
    isRelay: row.relay === 1,
    endpoint: row.endpoint,
    addedAtUs: row.added_at_us,
  }
}
