import type { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { FleetMember } from '../../storage/exchange/fleet.js'
import type { FleetContext } from './context.js'
import { MemberHistory, MemberInfo, MemberParams } from './schema.js'

export type MemberContext = Pick<FleetContext, 'fleetMembers' | 'fleetProfiles' | 'timeZoneMin'>

export const getMember = defineMethod({
  name: 'fleet.get_gateway',
  summary: 'A gateway of the fleet, with its reports of the last day',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_GATEWAY'],
  params: MemberParams,
  result: MemberHistory,
  async handle({ node }, context: MemberContext) {
    const member = await context.fleetMembers.find(node)
    if (member === undefined) throw unknownGateway(node)
    const reports = await context.fleetMembers.reports(node)
    return {
      ...(await toMemberInfo(member, context, versionFinder(context))),
      ...{ signing_key: member.signingKey, exchange_key: member.exchangeKey },
      reports: reports.map(({ atUs, report }) => ({ at: datetimeObject(atUs, context.timeZoneMin), report })),
    }
  },
})

export const revokeMember = defineMethod({
  name: 'fleet.revoke',
  summary: 'Refuses a gateway from now on; it keeps its data, and may not join again until it is forgotten',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_GATEWAY'],
  params: MemberParams,
  result: MemberInfo,
  async handle({ node }, context: MemberContext) {
    const member = await context.fleetMembers.end(node, 'revoked')
    if (member === undefined) throw unknownGateway(node)
    return await toMemberInfo(member, context, versionFinder(context))
  },
})

export const forgetMember = defineMethod({
  name: 'fleet.forget',
  summary: 'Removes a gateway that left or was revoked from the list, so that it may join again',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_GATEWAY', 'GATEWAY_IN_USE'],
  params: MemberParams,
  result: MemberInfo,
  async handle({ node }, context: MemberContext) {
    const member = await context.fleetMembers.forget(node)
    if (member !== undefined) return await toMemberInfo(member, context, versionFinder(context))
    if ((await context.fleetMembers.find(node)) === undefined) throw unknownGateway(node)
    const message = `The gateway ${node} is a member: revoke it first`
    throw new AppError('GATEWAY_IN_USE', { node }, { message })
  },
})

function unknownGateway(node: string): AppError {
  return new AppError('UNKNOWN_GATEWAY', { node }, { message: `No gateway of the fleet has the id ${node}` })
}

type VersionFinder = (profile: string, digest: string | null) => Promise<number | null>

/** Finds versions by their digests; the versions of each profile are read once. */
export function versionFinder({ fleetProfiles }: Pick<FleetContext, 'fleetProfiles'>): VersionFinder {
  const known = new Map<string, Promise<Map<string, number>>>()
  const read = async (profile: string) =>
    new Map((await fleetProfiles.versions(profile)).map(({ digest, version }) => [digest, version]))
  return async (profile, digest) => {
    if (digest === null) return null
    const versions = known.get(profile) ?? read(profile)
    known.set(profile, versions)
    return (await versions).get(digest) ?? null
  }
}

export async function toMemberInfo(
  member: FleetMember,
  { timeZoneMin }: MemberContext,
  versionOf: VersionFinder,
): Promise<z.output<typeof MemberInfo>> {
  const time = (us: number | null) => (us === null ? null : datetimeObject(us, timeZoneMin))
  const { nodeId, name, profile, state, outcome, lastReport } = member
  return {
    ...{ node: nodeId, name, profile, state, outcome, report: lastReport },
    joined_at: datetimeObject(member.joinedAtUs, timeZoneMin),
    ended_at: time(member.endedAtUs),
    applied: await versionOf(profile, member.appliedDigest),
    tried: await versionOf(profile, member.triedDigest),
    last_seen: time(member.lastSeenUs),
  }
}
