import { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { FleetContext } from './context.js'
import { JoinHubParams, LeaveHubParams, LeaveHubResult, MembershipInfo } from './schema.js'

type OwnContext = Pick<FleetContext, 'membership' | 'timeZoneMin' | 'hubContact'>

export const getMembership = defineMethod({
  name: 'fleet.get_membership',
  summary: 'Membership of this gateway in a fleet, and its progress with the profile; null for none',
  scope: 'fleet:admin',
  params: z.strictObject({}),
  result: MembershipInfo,
  handle: async (_params, context: OwnContext) => readMembership(context),
})

export const joinHub = defineMethod({
  name: 'fleet.join_hub',
  summary: 'Joins the fleet of a hub, as `fieldgate join` does. A repeat gets the same membership',
  scope: 'fleet:admin',
  errors: ['BAD_ENDPOINT', 'ALREADY_JOINED', 'UPSTREAM_EXISTS', 'UPSTREAM_UNREACHABLE', 'UPSTREAM_REFUSED'],
  params: JoinHubParams,
  result: MembershipInfo,
  async handle({ hub, token, name }, context: OwnContext & Pick<FleetContext, 'joinHub'>) {
    await context.joinHub({ hub, token, name })
    return await readMembership(context)
  },
})

export const leaveHub = defineMethod({
  name: 'fleet.leave_hub',
  summary: 'Leaves the fleet, as `fieldgate leave` does: what the profile made is removed, and no row',
  scope: 'fleet:admin',
  errors: ['NOT_JOINED', 'UPSTREAM_UNREACHABLE', 'UPSTREAM_REFUSED'],
  params: LeaveHubParams,
  result: LeaveHubResult,
  async handle({ force }, context: Pick<FleetContext, 'leaveHub'>) {
    const { hubUrl, fault } = await context.leaveHub(force)
    return { hub: hubUrl, told: fault === null }
  },
})

async function readMembership({
  membership,
  timeZoneMin,
  hubContact,
}: OwnContext): Promise<z.output<typeof MembershipInfo>> {
  const found = await membership.find()
  if (found === undefined) return null
  const { hubUrl, name, state, reason, joinedAtUs, progress } = found
  const { applied, items, putBack, fetching = null } = progress
  const contact = await hubContact(found)
  const time = (us: number | null) => (us === null ? null : datetimeObject(us, timeZoneMin))
  return {
    ...{ hub: hubUrl, name, state, reason },
    joined_at: time(joinedAtUs),
    last_contact: time(contact?.atUs ?? null),
    wanted: contact?.version ?? null,
    profile:
      applied === null ? null : { name: applied.name, version: applied.version, digest: applied.digest },
    items: items.map((item) => ({ ...item })),
    fetching:
      fetching === null
        ? null
        : { version: fetching.version, items: fetching.items.map((item) => ({ ...item })) },
    put_back: putBack === null ? null : { version: putBack.version, reason: putBack.reason },
  }
}
