import { randomUUID } from 'node:crypto'
import type { FleetContext } from '../api/fleet/index.js'
import { type Caller, isAllowed } from '../auth/caller.js'
import { createBlobStore } from '../files/blob-store.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import { assignProfile, neededBy, requireMember } from '../fleet/hub/assigned.js'
import { findFile, type HubFilesDeps, sweepFiles } from '../fleet/hub/files.js'
import { joinGateway } from '../fleet/hub/join-gateway.js'
import type { Downloadable } from '../http/send-file.js'
import { openNodeKeys } from '../node-keys/keys.js'
import type { HubIdentity } from '../storage/exchange/membership.js'
import { createSweepLease } from '../storage/sqlite/connection/lease.js'
import type { State } from '../storage/state.js'
import type { ServicesOptions } from './options.js'

/** Joining, as the methods of a gateway need it: any gateway can be a hub. */
export interface HubServices {
  readonly context: Omit<
    FleetContext,
    'caller' | 'timeZoneMin' | 'newId' | 'hubContact' | 'joinHub' | 'leaveHub'
  >
  /** Finds a file of a profile for a caller. @throws AppError FORBIDDEN, UNKNOWN_DIGEST, FILE_DAMAGED */
  findFile(sha256: string, caller: Caller): Promise<Downloadable>
  /** Waits for the sweep of the start. */
  settled(): Promise<void>
}

/** Opens the files that a hub keeps for its fleet; also for the command line beside a gateway. */
export function openHubFiles(
  { fleetFiles: files }: Pick<State, 'fleetFiles'>,
  { fleetFilesDir: dir, tempDir, leaseDb }: DataLayout,
  disk: DiskSpace,
): HubFilesDeps {
  const requireSpace = (bytes: number) => disk.require(bytes)
  return { files, blobs: createBlobStore({ dir, tempDir, requireSpace }), lease: createSweepLease(leaseDb) }
}

interface HubOptions extends Pick<ServicesOptions, 'layout' | 'log'> {
  readonly state: State
  readonly disk: DiskSpace
}

/** Opens the side of a hub, and removes what interrupted commands left. @param nodeId UUID of this node */
export function openHub({ state, layout, disk, log }: HubOptions, nodeId: string): HubServices {
  const { fleetTokens: tokens, fleetMembers: members, fleetProfiles: profiles, nodePeers: peers } = state
  const deps = { tokens, members, profiles, peers, nodeId, newId: randomUUID }
  const { keys, askedFeeds: asked, clock } = state
  const assigning = { profiles, members, keys, asked, clock }
  const files = openHubFiles(state, layout, disk)
  const swept = sweepFiles(files).catch((error: unknown) =>
    log.warn({ err: error }, 'files of profiles that no row names could not be removed'),
  )
  return {
    context: {
      clock: state.clock,
      fleetTokens: tokens,
      fleetMembers: members,
      fleetProfiles: profiles,
      fleetFiles: state.fleetFiles,
      membership: state.membership,
      identity: () => readIdentity(state, nodeId),
      joinGateway: (tokenKeyId, applicant) => joinGateway(deps, tokenKeyId, applicant),
      assignProfile: (member) => assignProfile(assigning, member),
    },
    async findFile(sha256, { scopes, keyId }) {
      if (isAllowed(scopes, 'fleet:admin')) return await findFile(files, sha256, undefined)
      const { needed } = await neededBy(assigning, await requireMember(members, keyId))
      return await findFile(files, sha256, needed)
    },
    settled: async () => void (await swept),
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
