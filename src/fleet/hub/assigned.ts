import { AppError } from '../../errors.js'
import type { KeyStore } from '../../storage/access/keys.js'
import type { AskedFeeds } from '../../storage/exchange/feeds.js'
import type {
  FleetMember,
  FleetMembers,
  FleetProfiles,
  ProfileVersion,
} from '../../storage/exchange/fleet.js'
import type { TrustedClock } from '../../storage/work/clock.js'
import { Profile } from '../profile/schema.js'
import { scopesOf, tablesOf } from '../profile/scopes.js'
import { isForAll, versionFor } from './rollout.js'

interface AssignDeps {
  readonly profiles: FleetProfiles
  readonly keys: Pick<KeyStore, 'find' | 'setScopes'>
  readonly asked: Pick<AskedFeeds, 'grant' | 'granted'>
  readonly members: Pick<FleetMembers, 'ofProfile'>
  readonly clock: Pick<TrustedClock, 'nowUs'>
}

/**
 * Returns the version of its profile that a gateway is to have, and gives its key what that version and the
 * one in force need: scopes, and the tables that it may send and read.
 */
export async function assignProfile(
  { profiles, members, keys, asked, clock }: AssignDeps,
  member: Pick<FleetMember, 'nodeId' | 'profile' | 'keyId' | 'appliedDigest'>,
): Promise<ProfileVersion> {
  const { keyId } = member
  const { version, needed } = await neededBy({ profiles, members, clock }, member)
  const scopes = sorted(needed.flatMap(scopesOf))
  const key = await keys.find(keyId)
  if (key !== undefined && !isEqual(sorted(key.scopes), scopes)) await keys.setScopes(keyId, scopes)
  const tables = tablesOf(...needed)
  if (!isEqual(sorted(await asked.granted(keyId)), tables)) await asked.grant(keyId, tables)
  return version
}

/** Returns the version that a gateway is to have, and the profiles of this version and of the one in force. */
export async function neededBy(
  { profiles, members, clock }: Pick<AssignDeps, 'profiles' | 'members' | 'clock'>,
  member: Pick<FleetMember, 'nodeId' | 'profile' | 'appliedDigest'>,
): Promise<{ version: ProfileVersion; needed: Profile[] }> {
  const { appliedDigest } = member
  const versions = await profiles.versions(member.profile)
  // most calls: the rows of all gateways are not asked for
  const isNewest = versions[0]?.digest === appliedDigest || isForAll(versions)
  const all = isNewest ? [] : await members.ofProfile(member.profile)
  const version = versionFor(versions, all, member, clock.nowUs())
  if (version === undefined) throw new Error(`the profile ${member.profile} of a member does not exist`)
  const inForce = versions.find(({ digest }) => digest === appliedDigest)
  const needed = [version, ...(inForce === undefined ? [] : [inForce])]
  return { version, needed: needed.map(({ body }) => Profile.parse(body)) }
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

function isEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name, at) => name === right[at])
}

/** Finds the member of a key. @throws AppError FORBIDDEN for another key */
export async function requireMember(members: FleetMembers, keyId: string): Promise<FleetMember> {
  const member = await members.ofKey(keyId)
  if (member !== undefined && member.state === 'member') return member
  const message = 'The key belongs to no gateway of this fleet'
  throw new AppError('FORBIDDEN', { scope: 'fleet:member' }, { message })
}
