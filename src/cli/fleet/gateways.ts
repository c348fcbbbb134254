import type { Command } from 'commander'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import type { FleetMember } from '../../storage/exchange/fleet.js'
import type { ProfileItem } from '../../storage/exchange/membership.js'
import type { State } from '../../storage/state.js'
import { type CliDeps, type CliIo, printJson } from '../io.js'
import { type Action, withState } from '../keys/with-state.js'
import { durationText, withModelData } from '../models/model-data.js'

/** Adds the verbs of gateways of a fleet, and that of this gateway's own membership. */
export function addGatewayVerbs(fleet: Command, io: CliIo, deps: CliDeps): void {
  const verb = <O>(command: Command, act: Action<O>) => withState(command, deps, act)
  fleet
    .command('list')
    .description('prints the gateways of the fleet, trouble first')
    .action(async (_options, command: Command) => verb(command, list(io)))
  fleet
    .command('revoke')
    .description('refuses a gateway from now on; it keeps its data')
    .argument('<gateway>', 'id of the gateway, or its name when only one has it')
    .action(async (which: string, _options, command: Command) =>
      verb(command, async ({ fleetMembers, audit }, { json }) => {
        const { nodeId, name } = await findGateway(fleetMembers, which)
        await fleetMembers.end(nodeId, 'revoked')
        await audit.note({ act: 'fleet-revoke', node: nodeId, gateway: name })
        if (json === true) printJson(io, { node: nodeId, revoked: true })
        else io.stdout.write(`The gateway ${name} (${nodeId}) is refused from now on.\n`)
      }),
    )
  fleet
    .command('forget')
    .description('removes a gateway that left or was revoked from the list, so that it may join again')
    .argument('<gateway>', 'id of the gateway, or its name when only one has it')
    .action(async (which: string, _options, command: Command) =>
      verb(command, async ({ fleetMembers, audit }, { json }) => {
        const { nodeId, name } = await findGateway(fleetMembers, which)
        if ((await fleetMembers.forget(nodeId)) === undefined)
          throw new Error(`the gateway ${name} is a member: \`fieldgate fleet revoke ${nodeId}\` first`)
        await audit.note({ act: 'fleet-forget', node: nodeId, gateway: name })
        if (json === true) printJson(io, { node: nodeId, forgotten: true })
        else io.stdout.write(`The gateway ${name} (${nodeId}) may join again.\n`)
      }),
    )
  fleet
    .command('status')
    .description('prints the membership of this gateway, and its progress with the profile of its hub')
    .action(async (_options, command: Command) =>
      withModelData(command, deps, ({ state }, { json }) => status(io, state, json === true)),
    )
}

/** Finds a gateway by its id, or by a name that one has. */
async function findGateway(members: State['fleetMembers'], which: string): Promise<FleetMember> {
  const all = await members.list()
  const byId = all.find(({ nodeId }) => nodeId === which)
  if (byId !== undefined) return byId
  const named = all.filter(({ name }) => name === which)
  const [only] = named
  if (only === undefined)
    throw new Error(
      `no gateway of the fleet has the id or name ${which}: \`fieldgate fleet list\` prints them`,
    )
  if (named.length > 1)
    throw new Error(
      `${named.length} gateways are named ${which}: give the id of one, \`fieldgate fleet list\` prints them`,
    )
  return only
}

function list(io: CliIo): Action<unknown> {
  return async ({ fleetMembers, fleetProfiles, clock }, { json }, { config }) => {
    const offsetMin = parseOffset(config.service.timeZone) ?? 0
    const time = (us: number | null) => (us === null ? null : formatDatetimeShort(us, offsetMin))
    const newest = new Map((await fleetProfiles.list()).map(({ name, digest }) => [name, digest]))
    const rows = (await fleetMembers.list()).map((member) => ({
      ...{ node: member.nodeId, name: member.name, state: member.state, profile: member.profile },
      ...{ joinedAt: time(member.joinedAtUs), lastSeen: time(member.lastSeenUs) },
      ageS:
        member.lastSeenUs === null
          ? null
          : Math.max(0, Math.round((clock.nowUs() - member.lastSeenUs) / 1e6)),
      isCurrent: member.appliedDigest === newest.get(member.profile),
      ...{ outcome: member.outcome, report: member.lastReport },
    }))
    const trouble = (row: (typeof rows)[number]) => troubleOf(row).length
    rows.sort((a, b) => trouble(b) - trouble(a))
    if (json === true) return printJson(io, rows)
    for (const row of rows) {
      const seen = row.ageS === null ? 'never reported' : `reported ${durationText(row.ageS)} ago`
      const parts = [`${row.name}: ${row.state}, profile ${row.profile}, ${seen}`, ...troubleOf(row)]
      io.stdout.write(`${row.node}  ${parts.join('; ')}\n`)
    }
  }
}

interface ListedGateway {
  readonly state: FleetMember['state']
  readonly isCurrent: boolean
  readonly outcome: FleetMember['outcome']
  readonly report: unknown
}

/** Returns what needs a look at a gateway. */
function troubleOf({ state, isCurrent, outcome, report }: ListedGateway): string[] {
  if (state !== 'member') return []
  const {
    ready,
    parts = [],
    profile,
  } = (report ?? {}) as {
    ready?: boolean
    parts?: readonly string[]
    profile?: { reason: string | null; items: readonly { item: string; reason: string | null }[] }
  }
  return [
    ...(ready === false ? [`not ready: ${parts.join(', ')}`] : []),
    ...(outcome === 'put_back' ? [`put its profile back: ${profile?.reason}`] : []),
    ...(profile?.items ?? []).map(({ item, reason }) => `${item}: ${reason}`).slice(0, 3),
    ...(isCurrent ? [] : ['has not its newest profile']),
  ]
}

async function status(io: CliIo, { membership: store }: State, json: boolean): Promise<void> {
  const membership = await store.find()
  if (membership === undefined || membership.state === 'left') {
    if (json) printJson(io, null)
    else io.stdout.write('This gateway is no member of a fleet.\n')
    return
  }
  const { hubUrl, name, state, reason, progress } = membership
  const { applied, items, putBack, fetching = null } = progress
  const profile = applied === null ? null : { name: applied.name, version: applied.version }
  if (json) return printJson(io, { hub: hubUrl, name, state, reason, profile, items, putBack, fetching })
  io.stdout.write(`${name} at ${hubUrl}: ${state}${reason === null ? '' : `: ${reason}`}\n`)
  if (profile !== null) io.stdout.write(`profile ${profile.name} version ${profile.version}\n`)
  if (putBack !== null) io.stdout.write(`version ${putBack.version} was put back: ${putBack.reason}\n`)
  const itemLine = ({ item, state, reason }: ProfileItem) =>
    `  ${item}: ${state}${reason === null ? '' : `: ${reason}`}\n`
  io.stdout.write(items.map(itemLine).join(''))
  if (fetching === null) return
  io.stdout.write(`version ${fetching.version} is applied when its files are here\n`)
  io.stdout.write(fetching.items.map(itemLine).join(''))
}
