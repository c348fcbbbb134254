import type { Method } from '../../rpc/define-method.js'
import type { FleetContext } from './context.js'
import { forgetMember, getMember, listMembers, revokeMember } from './members.js'
import { join, leave, report } from './membership.js'
import { getMembership, joinHub, leaveHub } from './own-membership.js'
import { checkProfile, diffProfile, getProfile, getRollout, listProfiles, setProfile } from './profiles.js'
import { createToken, listTokens, revokeToken } from './tokens.js'

export type { FleetContext } from './context.js'

/** Methods of `/api/v2/fleet/jsonrpc`. */
export const FLEET_METHODS: readonly Method<FleetContext>[] = [
  ...[createToken, listTokens, revokeToken],
  ...[setProfile, checkProfile, getProfile, listProfiles, diffProfile, getRollout],
  ...[listMembers, getMember, revokeMember, forgetMember],
  ...[join, report, leave],
  ...[getMembership, joinHub, leaveHub],
]
