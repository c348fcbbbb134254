import { AppError } from '../../errors.js'
import type { FleetMember, FleetMembers, FleetProfiles, ProfileVersion } from '../../storage/fleet.js'
import type { KeyStore } from '../../storage/keys.js'
import { Profile } from '../profile/schema.js'
import { scopesOf } from '../profile/scopes.js'

interface AssignDeps {
  readonly profiles: FleetProfiles
  readonly keys: Pick<KeyStore, 'find' | 'setScopes'>
}

/**
 * Returns the version of its profile that a gateway is to have, and gives its key what that version and the
 * one in force need.
 */
export async function assignProfile(
  { profiles, keys }: AssignDeps,
  member: Pick<FleetMember, 'profile' | 'keyId' | 'appliedDigest'>,
): Promise<ProfileVersion> {
  const version = await profiles.find(member.profile)
  if (version === undefined) throw new Error(`the profile ${member.profile} of a member does not exist`)
  const inForce = (await profiles.versions(member.profile)).find(
    ({ digest }) => digest === member.appliedDigest,
  )
  const bodies = inForce === undefined ? [version.body] : [version.body, inForce.body]
  const scopes = [...new Set(bodies.flatMap((body) => scopesOf(Profile.parse(body))))].sort()
  const key = await keys.find(member.keyId)
  if (key !== undefined && [...key.scopes].sort().join(' ') !== scopes.join(' '))
    await keys.setScopes(member.keyId, scopes)
  return version
}

/** Finds the member of a key. @throws AppError FORBIDDEN for another key */
export async function requireMember(members: FleetMembers, keyId: string): Promise<FleetMember> {
  const member = await members.ofKey(keyId)
  if (member !== undefined && member.state === 'member') return member
  const message = 'The key belongs to no gateway of this fleet'
  throw new AppError('FORBIDDEN', { scope: 'fleet:member' }, { message })
}

/** A table that a gateway of the fleet may read. */
export interface TableGrant {
  readonly table: string
  /** condition on the rows that it may read; null for all */
  readonly conds: unknown
  /** columns that it may read; null for all */
  readonly columns: readonly string[] | null
}

/**
 * Returns the tables that the key of a gateway may read: those that go down in its profile, or in the version
 * that it has.
 *
 * @returns undefined for a key that belongs to no gateway of the fleet: its scopes alone decide
 */
export async function readGrants(
  { members, profiles }: { members: FleetMembers; profiles: FleetProfiles },
  keyId: string,
): Promise<readonly TableGrant[] | undefined> {
  const member = await members.ofKey(keyId)
  if (member === undefined) return undefined
  if (member.state !== 'member') return []
  const versions = await profiles.versions(member.profile)
  const granted = versions.filter(({ digest }, at) => at === 0 || digest === member.appliedDigest)
  const tables = new Map<string, TableGrant>()
  for (const { body } of granted.reverse())
    for (const { table, conds = null, columns = null } of Profile.parse(body).down)
      tables.set(table, { table, conds, columns })
  return [...tables.values()]
}
