import { z } from 'zod'
import { requireMember } from '../../fleet/hub/assigned.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { ProfileVersion } from '../../storage/exchange/fleet.js'
import type { FleetContext } from './context.js'
import { JoinParams, JoinResult, ReportParams, ReportResult } from './schema.js'

export const join = defineMethod({
  name: 'fleet.join',
  summary: 'Called by a gateway with a token: takes it into the fleet. A repeat answers the same membership',
  scope: 'fleet:join',
  errors: ['BAD_SIGNATURE', 'TOKEN_USED_UP', 'GATEWAY_KNOWN', 'GATEWAY_REVOKED', 'LOOP'],
  params: JoinParams,
  result: JoinResult,
  async handle(params, context: Pick<FleetContext, 'caller' | 'joinGateway' | 'assignProfile' | 'identity'>) {
    const member = await context.joinGateway(context.caller.keyId, {
      ...{ nodeId: params.node, name: params.name, signature: params.signature },
      ...{ signingKey: params.signing_key, exchangeKey: params.exchange_key },
      secretSha256: params.secret_sha256,
    })
    const { nodeId, signingKey, exchangeKey } = await context.identity()
    return {
      api_key: member.keyId,
      hub: { node: nodeId, signing_key: signingKey, exchange_key: exchangeKey },
      profile: received(await context.assignProfile(member), true),
    }
  },
})

export const report = defineMethod({
  name: 'fleet.report',
  summary:
    'Called by a gateway every few minutes: notes how it is, and answers the profile that it is to have',
  scope: 'fleet:member',
  params: ReportParams,
  result: ReportResult,
  async handle(
    params,
    context: Pick<FleetContext, 'caller' | 'fleetMembers' | 'assignProfile' | 'identity'>,
  ) {
    const { fleetMembers, caller } = context
    const member = await requireMember(fleetMembers, caller.keyId)
    const { applied, tried, outcome, reason, items } = params.profile
    await fleetMembers.report(member.nodeId, {
      ...{ appliedDigest: applied, triedDigest: tried, outcome },
      report: { ...params.report, profile: { outcome, reason, items } },
    })
    const version = await context.assignProfile({ ...member, appliedDigest: applied })
    const isKnown = version.digest === applied || version.digest === tried
    return { hub: (await context.identity()).nodeId, profile: received(version, !isKnown) }
  },
})

export const leave = defineMethod({
  name: 'fleet.leave',
  summary: 'Called by a gateway that leaves the fleet: its key is revoked, and its rows stay',
  scope: 'fleet:member',
  params: z.strictObject({}),
  result: z.strictObject({ node: z.string() }),
  async handle(_params, { fleetMembers, caller }: Pick<FleetContext, 'caller' | 'fleetMembers'>) {
    const { nodeId } = await requireMember(fleetMembers, caller.keyId)
    await fleetMembers.end(nodeId, 'left')
    return { node: nodeId }
  },
})

function received({ name, version, digest, body }: ProfileVersion, hasBody: boolean) {
  return { name, version, digest, ...(hasBody ? { body } : {}) }
}
