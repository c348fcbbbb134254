import type { FleetMember } from '../storage/exchange/fleet.js'
import type { NodePeers } from '../storage/exchange/node-keys.js'

/** Notes the public keys of a hub or a member, for bundles. A name that is taken gets the beginning of the node id. */
export async function notePeer(
  peers: NodePeers,
  {
    nodeId,
    name,
    signingKey,
    exchangeKey,
  }: Pick<FleetMember, 'nodeId' | 'name' | 'signingKey' | 'exchangeKey'>,
): Promise<void> {
  const keys = {
    signingKey: Buffer.from(signingKey, 'base64url'),
    exchangeKey: Buffer.from(exchangeKey, 'base64url'),
  }
  const known = await peers.find(nodeId)
  if (known !== undefined) {
    if (keys.signingKey.equals(known.signingKey) && keys.exchangeKey.equals(known.exchangeKey)) return
    await peers.remove(nodeId)
  }
  if ((await peers.add({ nodeId, name, ...keys })) !== undefined) return
  await peers.add({ nodeId, name: `${name.slice(0, 50)}-${nodeId.slice(0, 8)}`, ...keys })
}
