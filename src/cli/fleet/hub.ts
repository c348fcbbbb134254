import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { hashSecret } from '../../auth/secret.js'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import { requireFiles } from '../../fleet/hub/files.js'
import { rolloutOf } from '../../fleet/hub/rollout.js'
import { formatToken } from '../../fleet/join-text.js'
import { diffProfiles, type ProfileChange } from '../../fleet/profile/diff.js'
import { digestOf } from '../../fleet/profile/digest.js'
import { Profile, ProfileName } from '../../fleet/profile/schema.js'
import { checkValue } from '../../messages/fault-text.js'
import type { ProfileVersion } from '../../storage/exchange/fleet.js'
import type { State } from '../../storage/state.js'
import { parseDuration } from '../duration.js'
import { type CliDeps, type CliIo, printJson } from '../io.js'
import { type Action, withState } from '../keys/with-state.js'
import { newKeyPair } from '../serving/prepare.js'
import { addFileVerbs } from './files.js'
import { addGatewayVerbs } from './gateways.js'

/** Adds the verbs of a hub. They work beside a running gateway, which sees a change at the next call. */
export function addFleetCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const fleet = program.command('fleet').description('gateways that join this one, and their profiles')
  const verb = <O>(command: Command, act: Action<O>) => withState(command, deps, act)
  fleet
    .command('token')
    .description('makes a token with which gateways join, and prints it, once')
    .requiredOption('--profile <name>', 'profile that the gateways get')
    .option('--uses <count>', 'gateways that may join with it', readUses, 1)
    .option('--expires <duration>', 'validity, such as 7d', parseDuration, parseDuration('7d'))
    .action(async (_options, command: Command) => verb(command, makeToken(io)))
  const profile = fleet.command('profile').description('what this hub wants of its gateways')
  profile
    .command('set')
    .description('stores a profile as its newest version, and prints what changes')
    .argument('<name>', 'name of the profile', readProfileName)
    .argument('<file>', 'JSON of the profile; - for stdin')
    .action(async (name: string, file: string, _options, command: Command) =>
      verb(command, setProfile(io, name, file)),
    )
  profile
    .command('show')
    .description('prints a profile as JSON')
    .argument('<name>', 'name of a profile')
    .option('--at <number>', 'an older version (default: the newest)', readVersion)
    .action(async (name: string, _options, command: Command) => verb(command, showProfile(io, name)))
  profile
    .command('diff')
    .description('prints the differences of two versions of a profile')
    .argument('<name>', 'name of a profile')
    .option('--from <number>', 'version before (default: the one before the other)', readVersion)
    .option('--to <number>', 'version after (default: the newest)', readVersion)
    .action(async (name: string, _options, command: Command) => verb(command, diffProfile(io, name)))
  profile
    .command('list')
    .description('prints the profiles of this hub')
    .action(async (_options, command: Command) => verb(command, listProfiles(io)))
  addFileVerbs(fleet, io, deps)
  addGatewayVerbs(fleet, io, deps)
}

function makeToken(io: CliIo): Action<{ profile: string; uses: number; expires: number }> {
  return async ({ fleetTokens, clock, audit }, { profile, uses, expires, json }, { config }) => {
    const { apiKey: keyId, secret } = newKeyPair()
    const expiresAtUs = clock.latestUs() + expires * 1_000_000
    const key = { keyId, name: `token of ${profile}`, scopes: ['fleet:join'], secretHash: hashSecret(secret) }
    const made = await fleetTokens.create({ ...key, expiresAtUs }, profile, uses)
    if (made === undefined) throw unknownProfile(profile)
    await audit.note({ act: 'fleet-token', keyId, profile, uses })
    const token = formatToken(keyId, secret)
    const until = formatDatetimeShort(expiresAtUs, parseOffset(config.service.timeZone) ?? 0)
    if (json === true) return printJson(io, { token, profile, uses, expiresAt: until })
    const text = `${token}\nIt is not shown again. ${uses} gateways may join with it until ${until.replace(/\.\d+/, '')}.\n`
    io.stdout.write(text)
  }
}

function setProfile(io: CliIo, name: string, file: string): Action<unknown> {
  return async ({ fleetProfiles, fleetFiles, audit }, { json }) => {
    const body = readProfile(file)
    await requireFiles(fleetFiles, body)
    const before = await fleetProfiles.find(name)
    const added = await fleetProfiles.add({ name, body, digest: digestOf(body), createdBy: null }, null)
    if (added === undefined) throw new Error(`the profile ${name} was not stored`)
    const changes = changesOf(before, added)
    if (added.version !== before?.version)
      await audit.note({ act: 'fleet-profile-set', profile: name, version: added.version })
    if (json === true) return printJson(io, { name, version: added.version, digest: added.digest, changes })
    io.stdout.write(`${name} version ${added.version}${changes.length === 0 ? ': nothing changed' : ''}\n`)
    io.stdout.write(changesText(changes))
  }
}

function showProfile(io: CliIo, name: string): Action<{ at?: number }> {
  return async ({ fleetProfiles }, { at, json }) => {
    const found = await requireProfile(fleetProfiles, name, at)
    if (json === true) printJson(io, found.body)
    else io.stdout.write(`${JSON.stringify(found.body, null, 2)}\n`)
  }
}

function diffProfile(io: CliIo, name: string): Action<{ from?: number; to?: number }> {
  return async ({ fleetProfiles }, { from, to, json }) => {
    const after = await requireProfile(fleetProfiles, name, to)
    const first = from ?? after.version - 1
    const before = first === 0 ? undefined : await requireProfile(fleetProfiles, name, first)
    const changes = changesOf(before, after)
    if (json === true) return printJson(io, { name, from: first, to: after.version, changes })
    io.stdout.write(changesText(changes))
  }
}

function listProfiles(io: CliIo): Action<unknown> {
  return async ({ fleetProfiles, fleetMembers, clock }, { json }) => {
    const rows = await Promise.all(
      (await fleetProfiles.list()).map(async ({ name, version, digest }) => {
        const members = await fleetMembers.ofProfile(name)
        const { canaries, ...facts } = rolloutOf(await fleetProfiles.versions(name), members, clock.nowUs())
        return { name, version, digest, gateways: members.length, canaries: canaries.length, ...facts }
      }),
    )
    if (json === true) return printJson(io, rows)
    for (const { name, version, gateways, state, canaries, applied, trouble } of rows) {
      const stage = state === 'all' ? [] : [state === 'canary' ? `tried by ${canaries}` : 'STOPPED']
      const parts = [
        `on ${applied} of ${gateways} gateways`,
        ...stage,
        ...(trouble > 0 ? [`${trouble} in trouble`] : []),
      ]
      io.stdout.write(`${name}  version ${version}, ${parts.join(', ')}\n`)
    }
  }
}

async function requireProfile(
  profiles: State['fleetProfiles'],
  name: string,
  version: number | undefined,
): Promise<ProfileVersion> {
  const found = await profiles.find(name, version)
  if (found !== undefined) return found
  if (version === undefined) throw unknownProfile(name)
  throw new Error(`the profile ${name} has no version ${version}`)
}

function unknownProfile(name: string): Error {
  return new Error(`no profile has the name ${name}: \`fieldgate fleet profile set\` makes it`)
}

/** @throws Error with the first fault */
function readProfile(file: string): Profile {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Error(`${file}: found no JSON, expected a profile: ${String(error)}`)
  }
  const checked = checkValue(Profile, json)
  if ('data' in checked) return checked.data
  const faults = checked.faults.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Error(`${file}: ${faults.slice(0, 5).join('; ')}`)
}

function changesOf(before: ProfileVersion | undefined, { body }: ProfileVersion): ProfileChange[] {
  // a profile is an object, which was checked when it was stored
  return diffProfiles((before?.body ?? {}) as Record<string, unknown>, body as Record<string, unknown>)
}

function changesText(changes: readonly ProfileChange[]): string {
  return changes
    .map((change) => {
      const before = 'before' in change ? [`- ${change.item} ${JSON.stringify(change.before)}\n`] : []
      const after = 'after' in change ? [`+ ${change.item} ${JSON.stringify(change.after)}\n`] : []
      return [...before, ...after].join('')
    })
    .join('')
}

function readProfileName(text: string): string {
  const checked = checkValue(ProfileName, text)
  if ('data' in checked) return checked.data
  throw new InvalidArgumentError('Expected 1 to 63 letters, digits or any of . _ -')
}

function readUses(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number from 1 to 99999.')
}

function readVersion(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected the number of a version.')
}
