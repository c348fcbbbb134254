import { randomUUID } from 'node:crypto'
import type { HubFleetContext } from '../../api/fleet/index.js'
import { type Caller, isAllowed } from '../../auth/caller.js'
import { assignProfile, neededBy, requireMember } from '../../fleet/hub/assigned.js'
import { findFile, type HubFilesDeps } from '../../fleet/hub/files.js'
import { joinGateway } from '../../fleet/hub/join-gateway.js'
import type { Downloadable } from '../../http/send-file.js'
import { openNodeKeys } from '../../node-keys/keys.js'
import type { HubIdentity } from '../../storage/exchange/membership.js'
import type { State } from '../../storage/state.js'

/** Joining, as the methods of a hub need it, whichever engine keeps its rows. */
export interface FleetRooms {
  readonly context: Omit<HubFleetContext, 'caller' | 'timeZoneMin' | 'newId' | 'hubContact' | 'membership'>
  /** Finds a file of a profile for a caller. @throws AppError FORBIDDEN, UNKNOWN_DIGEST, FILE_DAMAGED */
  findFile(sha256: string, caller: Caller): Promise<Downloadable>
}

/** Rows of a fleet. */
type FleetState = Pick<
  State,
  | 'fleetTokens'
  | 'fleetMembers'
  | 'fleetProfiles'
  | 'fleetFiles'
  | 'nodeKeys'
  | 'keys'
  | 'clock'
  | 'askedFeeds'
>

/** Opens the side of a hub. @param nodeId UUID of this node */
export function openFleetRooms(state: FleetState, files: HubFilesDeps, nodeId: string): FleetRooms {
  const { fleetTokens: tokens, fleetMembers: members, fleetProfiles: profiles } = state
  const deps = { tokens, members, profiles, nodeId, newId: randomUUID }
  const { keys, askedFeeds: asked, clock } = state
  const assigning = { profiles, members, keys, asked, clock }
  return {
    context: {
      clock: state.clock,
      fleetTokens: tokens,
      fleetMembers: members,
      fleetProfiles: profiles,
      fleetFiles: state.fleetFiles,
      identity: rememberedIdentity(state, nodeId),
      joinGateway: (tokenKeyId, applicant) => joinGateway(deps, tokenKeyId, applicant),
      assignProfile: (member) => assignProfile(assigning, member),
    },
    async findFile(sha256, { scopes, keyId }) {
      if (isAllowed(scopes, 'fleet:admin')) return await findFile(files, sha256, undefined)
      const { needed } = await neededBy(assigning, await requireMember(members, keyId))
      return await findFile(files, sha256, needed)
    },
  }
}

/** Makes a function that reads the public identity once: keys are replaced at a start alone, before any call. */
function rememberedIdentity(state: Pick<State, 'nodeKeys'>, nodeId: string): () => Promise<HubIdentity> {
  let known: HubIdentity | undefined
  return async () => {
    known ??= await readIdentity(state, nodeId)
    return known
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
