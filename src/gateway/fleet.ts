import { randomUUID } from 'node:crypto'
import type { FleetContext } from '../api/fleet/index.js'
import { assignProfile } from '../fleet/hub/assigned.js'
import { joinGateway } from '../fleet/hub/join-gateway.js'
import { openNodeKeys } from '../node-keys/keys.js'
import type { HubIdentity } from '../storage/membership.js'
import type { State } from '../storage/state.js'

/** Joining, as the methods of a gateway need it: any gateway can be a hub. */
export type FleetServices = Omit<FleetContext, 'caller' | 'timeZoneMin' | 'newId'>

/** Opens the fleet of a gateway. @param nodeId UUID of this node */
export function openFleet(state: State, nodeId: string): FleetServices {
  const { fleetTokens: tokens, fleetMembers: members, fleetProfiles: profiles, nodePeers: peers } = state
  const deps = { tokens, members, profiles, peers, nodeId, newId: randomUUID }
  return {
    clock: state.clock,
    fleetTokens: tokens,
    fleetMembers: members,
    fleetProfiles: profiles,
    membership: state.membership,
    identity: () => readIdentity(state, nodeId),
    joinGateway: (tokenKeyId, applicant) => joinGateway(deps, tokenKeyId, applicant),
    assignProfile: (member) => assignProfile({ profiles, keys: state.keys }, member),
  }
}

/** Returns the public identity of this node; its keys are made at the first call. */
async function readIdentity({ nodeKeys }: Pick<State, 'nodeKeys'>, nodeId: string): Promise<HubIdentity> {
  const { identity } = await openNodeKeys(nodeKeys, nodeId)
  return {
    nodeId,
    signingKey: Buffer.from(identity.signingKey).toString('base64url'),
    exchangeKey: Buffer.from(identity.exchangeKey).toString('base64url'),
  }
}
