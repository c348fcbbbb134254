import type { Method } from '../../rpc/define-method.js'
import type { FleetContext, HubFleetContext } from './context.js'
import { countMembers, listMembers, listPositions } from './list-members.js'
import { forgetMember, getMember, revokeMember } from './members.js'
import { join, leave, report } from './membership.js'
import { getMembership, joinHub, leaveHub } from './own-membership.js'
import { checkProfile, diffProfile, getProfile, getRollout, listProfiles, setProfile } from './profiles.js'
import { createToken, listTokens, revokeToken } from './tokens.js'

export type { FleetContext, HubFleetContext } from './context.js'

/** Methods of `/api/v2/fleet/jsonrpc` that every hub has. */
export const HUB_FLEET_METHODS: readonly Method<HubFleetContext>[] = [
  ...[createToken, listTokens, revokeToken],
  ...[setProfile, checkProfile, getProfile, listProfiles, diffProfile, getRollout],
  ...[listMembers, countMembers, listPositions, getMember, revokeMember, forgetMember],
  ...[join, report, leave],
  getMembership,
]

/** Methods of a gateway's own membership, which a hub on engines does not have. */
export const OWN_MEMBERSHIP: readonly Method<FleetContext>[] = [joinHub, leaveHub]

/** Methods of `/api/v2/fleet/jsonrpc`. */
export const FLEET_METHODS: readonly Method<FleetContext>[] = [...HUB_FLEET_METHODS, ...OWN_MEMBERSHIP]
