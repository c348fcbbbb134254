import type { FleetMember } from '../../exchange/fleet.js'
import type { Rows } from '../connection/database.js'

const REPLACED = `DELETE FROM node_peer AS p USING unnest($1::text[], $2::bytea[], $3::bytea[])
    AS a (node_id, signing_key, exchange_key)
  WHERE p.node_id = a.node_id AND (p.signing_key <> a.signing_key OR p.exchange_key <> a.exchange_key)`
const ADD = `INSERT INTO node_peer (node_id, name, signing_key, exchange_key, relay, added_at_us)
  SELECT a.*, false, $5 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[])
    AS a (node_id, name, signing_key, exchange_key)
  ON CONFLICT DO NOTHING`

type PeerOf = Pick<FleetMember, 'nodeId' | 'name' | 'signingKey' | 'exchangeKey'>

/**
 * Notes the public keys of members, for bundles. A name that is taken gets the beginning of the node id. Call it inside a
 * transaction.
 */
export async function notePeers(rows: Rows, members: readonly PeerOf[], nowUs: number): Promise<void> {
  const ids = members.map(({ nodeId }) => nodeId)
  const signing = members.map(({ signingKey }) => Buffer.from(signingKey, 'base64url'))
  const exchange = members.map(({ exchangeKey }) => Buffer.from(exchangeKey, 'base64url'))
  const add = (names: readonly string[]) => rows.run(ADD, ids, names, signing, exchange, nowUs)
  await rows.run(REPLACED, ids, signing, exchange)
  const added = await add(members.map(({ name }) => name))
  // the others are noted, or their names are taken
  if (added < members.length)
    await add(members.map(({ nodeId, name }) => `${name.slice(0, 50)}-${nodeId.slice(0, 8)}`))
}
