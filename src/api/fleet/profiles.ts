import { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import { requireFiles } from '../../fleet/hub/files.js'
import { rolloutOf } from '../../fleet/hub/rollout.js'
import { diffProfiles } from '../../fleet/profile/diff.js'
import { digestOf } from '../../fleet/profile/digest.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { ProfileVersion } from '../../storage/exchange/fleet.js'
import type { FleetContext } from './context.js'
import {
  CheckProfileParams,
  CheckProfileResult,
  DiffProfileParams,
  GetProfileParams,
  ProfileDiff,
  ProfileInfo,
  RolloutInfo,
  RolloutParams,
  SetProfileParams,
  SetProfileResult,
} from './schema.js'

type ProfileContext = Pick<FleetContext, 'fleetProfiles' | 'timeZoneMin'>

export const setProfile = defineMethod({
  name: 'fleet.set_profile',
  summary: 'Stores a profile as its newest version; an equal one makes no version',
  scope: 'fleet:admin',
  errors: ['PROFILE_CHANGED', 'UNKNOWN_DIGEST', 'BAD_SIGNATURE'],
  params: SetProfileParams,
  result: SetProfileResult,
  async handle(
    { name, profile, base },
    context: ProfileContext & Pick<FleetContext, 'caller' | 'fleetFiles'>,
  ) {
    const { fleetProfiles, fleetFiles, caller } = context
    await requireFiles(fleetFiles, profile)
    const before = await fleetProfiles.find(name)
    const body = { name, digest: digestOf(profile), body: profile, createdBy: caller.keyName }
    const stored = await fleetProfiles.add(body, base ?? null)
    if (stored === undefined) {
      const { version } = (await fleetProfiles.find(name)) ?? { version: 0 }
      const message = `The newest version of ${name} is ${version}, expected ${base}: look at it, and set again`
      throw new AppError('PROFILE_CHANGED', { profile: name, version }, { message })
    }
    return { ...toProfileInfo(stored, context), changes: changesOf(before, stored) }
  },
})

export const checkProfile = defineMethod({
  name: 'fleet.check_profile',
  summary: 'Checks a profile, and tells what storing it would change; stores nothing',
  scope: 'fleet:admin',
  params: CheckProfileParams,
  result: CheckProfileResult,
  async handle({ name, profile }, { fleetProfiles }: Pick<FleetContext, 'fleetProfiles'>) {
    const before = await fleetProfiles.find(name)
    return { name, version: before?.version ?? 0, profile, changes: changesOf(before, { body: profile }) }
  },
})

export const getProfile = defineMethod({
  name: 'fleet.get_profile',
  summary: 'A profile, in its newest or a given version',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_PROFILE'],
  params: GetProfileParams,
  result: ProfileInfo,
  async handle({ name, version }, context: ProfileContext) {
    return toProfileInfo(await requireProfile(context, name, version), context)
  },
})

export const listProfiles = defineMethod({
  name: 'fleet.list_profiles',
  summary: 'Profiles of this hub, in their newest versions',
  scope: 'fleet:admin',
  params: z.strictObject({}),
  result: z.array(ProfileInfo),
  async handle(_params, context: ProfileContext) {
    return (await context.fleetProfiles.list()).map((version) => toProfileInfo(version, context))
  },
})

export const diffProfile = defineMethod({
  name: 'fleet.diff_profile',
  summary: 'Differences of two versions of a profile',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_PROFILE'],
  params: DiffProfileParams,
  result: ProfileDiff,
  async handle({ name, from, to }, context: ProfileContext) {
    const after = await requireProfile(context, name, to)
    const first = from ?? after.version - 1
    const before = first === 0 ? undefined : await requireProfile(context, name, first)
    return { name, from: first, to: after.version, changes: changesOf(before, after) }
  },
})

export const getRollout = defineMethod({
  name: 'fleet.get_rollout',
  summary: 'Way of the newest version of a profile to its gateways',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_PROFILE'],
  params: RolloutParams,
  result: RolloutInfo,
  async handle({ name }, context: ProfileContext & Pick<FleetContext, 'fleetMembers' | 'clock'>) {
    const { version } = await requireProfile(context, name, undefined)
    const members = await context.fleetMembers.ofProfile(name)
    const versions = await context.fleetProfiles.versions(name)
    const { canaries, ...facts } = rolloutOf(versions, members, context.clock.nowUs())
    return { name, version, gateways: members.length, ...facts, canaries: [...canaries] }
  },
})

/** Finds a version of a profile. @throws AppError UNKNOWN_PROFILE */
async function requireProfile(
  { fleetProfiles }: ProfileContext,
  name: string,
  version: number | undefined,
): Promise<ProfileVersion> {
  const found = await fleetProfiles.find(name, version)
  if (found === undefined) throw unknownProfile(name, version)
  return found
}

/** Returns the error for a profile that does not exist. */
export function unknownProfile(name: string, version?: number): AppError {
  const message =
    version === undefined
      ? `No profile has the name ${name}`
      : `The profile ${name} has no version ${version}`
  return new AppError('UNKNOWN_PROFILE', { profile: name }, { message })
}

function changesOf(before: ProfileVersion | undefined, { body }: Pick<ProfileVersion, 'body'>) {
  // a profile is an object, which was checked when it was stored
  return diffProfiles((before?.body ?? {}) as Record<string, unknown>, body as Record<string, unknown>)
}

function toProfileInfo(
  { name, version, digest, body, createdAtUs, createdBy }: ProfileVersion,
  { timeZoneMin }: ProfileContext,
): z.output<typeof ProfileInfo> {
  const created_at = datetimeObject(createdAtUs, timeZoneMin)
  return { name, version, digest, profile: body, created_at, created_by: createdBy }
}
