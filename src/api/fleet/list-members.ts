import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { FleetContext } from './context.js'
import { type MemberContext, toMemberInfo, versionFinder } from './members.js'
import {
  CountMembersParams,
  CountMembersResult,
  ListedMember,
  ListMembersParams,
  ListPositionsParams,
  MemberPosition,
} from './schema.js'

/** Most positions of one answer: some 110 bytes each. */
const MAX_POSITIONS = 20_000

export const listMembers = defineMethod({
  name: 'fleet.list_gateways',
  summary: 'Gateways of the fleet with their last reports, filtered, ordered and paged',
  scope: 'fleet:admin',
  params: ListMembersParams,
  result: z.array(ListedMember),
  async handle({ trouble: troubles, ...params }, context: MemberContext & Pick<FleetContext, 'clock'>) {
    const versionOf = versionFinder(context)
    const members = await context.fleetMembers.page({ ...params, troubles, nowUs: context.clock.nowUs() })
    return await Promise.all(
      members.map(async (member) => ({
        ...(await toMemberInfo(member, context, versionOf)),
        trouble: member.trouble,
      })),
    )
  },
})

export const countMembers = defineMethod({
  name: 'fleet.count_gateways',
  summary: 'Number of gateways of the fleet by their worst trouble',
  scope: 'fleet:admin',
  params: CountMembersParams,
  result: CountMembersResult,
  async handle(params, { fleetMembers, clock }: Pick<FleetContext, 'fleetMembers' | 'clock'>) {
    const trouble = await fleetMembers.count({ ...params, nowUs: clock.nowUs() })
    return { total: Object.values(trouble).reduce((sum, count) => sum + count, 0), trouble }
  },
})

export const listPositions = defineMethod({
  name: 'fleet.list_positions',
  summary: `Last positions of the gateways of the fleet, at most ${MAX_POSITIONS}, the worst trouble first`,
  scope: 'fleet:admin',
  params: ListPositionsParams,
  result: z.array(MemberPosition),
  async handle(
    { trouble: troubles, ...params },
    { fleetMembers, clock }: Pick<FleetContext, 'fleetMembers' | 'clock'>,
  ) {
    const choice = { ...params, troubles, nowUs: clock.nowUs() }
    const found = await fleetMembers.positions(choice, MAX_POSITIONS)
    return found.map(({ nodeId, name, trouble, lng, lat }) => ({
      ...{ node: nodeId, name, trouble },
      position: [lng, lat] as [number, number],
    }))
  },
})
