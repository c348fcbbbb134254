import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { SCOPES } from '../../auth/caller.js'
import { hashSecret } from '../../auth/secret.js'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import { layoutOf } from '../../files/layout.js'
import type { KeyRecord } from '../../storage/keys.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'
import { parseDuration } from '../duration.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { newKeyPair } from '../serving/prepare.js'
import { type RunSettings, readSettings } from '../settings.js'

/** The name goes to `tenant_id` of models, so it has the length of a name and not of a text. */
const MAX_NAME = 100
/** Time to carry a new secret to every device that holds the old one. */
const DEFAULT_OVERLAP = '24h'

/** What a verb does once the key store is open. */
type Action<O> = (state: State, options: O & GlobalOptions, settings: RunSettings) => Promise<void>

/** The verbs of API keys. They work beside a running gateway, which sees the change at its next call. */
export function addKeyCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const key = program.command('key').description('API keys')
  const verb = <O>(command: Command, act: Action<O>) => withState(command, deps, act)
  key
    .command('create')
    .description('makes a key and prints its secret, once')
    .requiredOption('--name <name>', 'what the key is for, 1 to 100 characters', readName)
    .requiredOption('--scope <scope...>', `what it may do: ${SCOPES.join(', ')}`, collectScopes)
    .option(
      '--expires-in <duration>',
      'how long it is valid, such as 90d (default: without end)',
      parseDuration,
    )
    .action(async (_options, command: Command) => await verb(command, createKey(io)))
  key
    .command('list')
    .description('prints every key, revoked ones too, never a secret')
    .action(async (_options, command: Command) => await verb(command, listKeys(io)))
  key
    .command('rotate')
    .description('gives a key a new secret, printed once; the old one works on for the overlap')
    .argument('<key>', 'id of the key, or its name when only one has it')
    .option(
      '--overlap <duration>',
      'how long the old secret works on',
      parseDuration,
      parseDuration(DEFAULT_OVERLAP),
    )
    .action(async (which: string, _options, command: Command) => await verb(command, rotateKey(io, which)))
  key
    .command('revoke')
    .description('ends a key and its sessions, for good')
    .argument('<key>', 'id of the key, or its name when only one has it')
    .action(async (which: string, _options, command: Command) => await verb(command, revokeKey(io, which)))
}

/**
 * Opens the key store of a data directory for one verb.
 *
 * @throws Error when the directory holds none: a mistyped `--data-dir` must not quietly become a new gateway
 */
async function withState<O>(command: Command, deps: CliDeps, act: Action<O>): Promise<void> {
  const globals = command.optsWithGlobals<O & GlobalOptions>()
  const settings = readSettings(globals, deps)
  const { stateDb } = layoutOf(settings.dataDir)
  if (!existsSync(stateDb)) {
    throw new Error(
      `${settings.dataDir} holds no gateway's data: run \`fieldgate init\` with the same --data-dir first`,
    )
  }
  deps.makeFilesPrivate()
  const state = await openState(stateDb)
  try {
    await act(state, globals, settings)
  } finally {
    await state.close()
  }
}

/** `key create`. With `--json` it prints the pair and nothing else: scripts rely on that. */
function createKey(io: CliIo): Action<{ name: string; scope: string[]; expiresIn?: number }> {
  return async ({ keys, clock, audit }, { name, scope, expiresIn, json }) => {
    const pair = newKeyPair()
    await keys.create({
      keyId: pair.apiKey,
      name,
      scopes: scope,
      secretHash: hashSecret(pair.secret),
      expiresAtUs: expiresIn === undefined ? null : clock.latestUs() + expiresIn * 1_000_000,
    })
    await audit.note({ act: 'key-create', keyId: pair.apiKey, keyName: name, scopes: scope.join(' ') })
    if (json === true) printJson(io, pair)
    else io.stdout.write(`APIKey  ${pair.apiKey}\nSecret  ${pair.secret}\nThe secret is not shown again.\n`)
  }
}

/** `key list`: times to the microsecond for programs, to the second for people. */
function listKeys(io: CliIo): Action<unknown> {
  return async ({ keys, clock }, { json }, { config }) => {
    const offsetMin = parseOffset(config.service.timeZone) ?? 0
    const time = (us: number | null) => (us === null ? null : formatDatetimeShort(us, offsetMin))
    const stateOf = (key: KeyRecord) =>
      key.revokedAtUs !== null ? 'revoked' : clock.hasPassed(key.expiresAtUs) ? 'expired' : 'active'
    const rows = (await keys.list()).map((key) => ({
      apiKey: key.keyId,
      name: key.name,
      state: stateOf(key),
      scopes: key.scopes,
      createdAt: time(key.createdAtUs),
      lastUsedAt: time(key.lastUsedAtUs),
      expiresAt: time(key.expiresAtUs),
      revokedAt: time(key.revokedAtUs),
    }))
    if (json === true) return printJson(io, rows)
    const brief = (text: string | null) => text?.replace(/\.\d+/, '')
    for (const row of rows) {
      const used = row.lastUsedAt === null ? 'never used' : `last used ${brief(row.lastUsedAt)}`
      const end = row.expiresAt === null ? '' : `, expires ${brief(row.expiresAt)}`
      io.stdout.write(
        `${row.apiKey}  ${row.state.padEnd(7)}  ${row.name}  [${row.scopes.join(' ')}]  made ${brief(row.createdAt)}, ${used}${end}\n`,
      )
    }
  }
}

/** `key rotate`. Sessions of the key go on: they were opened with a secret that was good then. */
function rotateKey(io: CliIo, which: string): Action<{ overlap: number }> {
  return async ({ keys, clock, audit }, { overlap, json }, { config }) => {
    const { keyId, name, expiresAtUs } = findKey(which, await keys.list())
    if (clock.hasPassed(expiresAtUs))
      throw new Error(`the key ${name} (${keyId}) has expired: make a new one with \`fieldgate key create\``)
    const { secret } = newKeyPair()
    const rotated = await keys.rotate(keyId, hashSecret(secret), overlap)
    if (rotated === undefined)
      throw new Error(`the key ${name} (${keyId}) is revoked: make a new one with \`fieldgate key create\``)
    await audit.note({ act: 'key-rotate', keyId, keyName: name, overlapS: overlap })
    const untilUs = clock.nowUs() + overlap * 1_000_000
    const oldValidUntil = formatDatetimeShort(untilUs, parseOffset(config.service.timeZone) ?? 0)
    if (json === true) return printJson(io, { apiKey: keyId, secret, oldValidUntil })
    io.stdout.write(
      `APIKey  ${keyId}\nSecret  ${secret}\nThe secret is not shown again; the one before works until ${oldValidUntil}.\n`,
    )
  }
}

/** `key revoke`. A running gateway looks the key up at each call, so it is refused from the next one on. */
function revokeKey(io: CliIo, which: string): Action<unknown> {
  return async ({ keys, audit }, { json }, { config }) => {
    const { keyId, name, revokedAtUs: before } = findKey(which, await keys.list())
    const { revokedAtUs } = (await keys.revoke(keyId)) ?? { revokedAtUs: before }
    await audit.note({ act: 'key-revoke', keyId, keyName: name })
    const offsetMin = parseOffset(config.service.timeZone) ?? 0
    const revokedAt = revokedAtUs === null ? null : formatDatetimeShort(revokedAtUs, offsetMin)
    if (json === true)
      return printJson(io, { apiKey: keyId, revoked: true, already: before !== null, revokedAt })
    io.stdout.write(
      before === null
        ? `The key ${name} (${keyId}) is revoked; its sessions ended with it.\n`
        : `The key ${name} (${keyId}) was revoked already, at ${revokedAt?.replace(/\.\d+/, '')}; nothing changed.\n`,
    )
  }
}

/** By id, or by a name that one key has; revoked ones count when no other has the name. */
function findKey(which: string, keys: KeyRecord[]): KeyRecord {
  const byId = keys.find((key) => key.keyId === which)
  if (byId !== undefined) return byId
  const sameName = keys.filter((key) => key.name === which)
  const unrevoked = sameName.filter((key) => key.revokedAtUs === null)
  const named = unrevoked.length > 0 ? unrevoked : sameName
  const [only] = named
  if (only === undefined)
    throw new Error(`no key has the id or name ${which}: \`fieldgate key list\` prints them`)
  if (named.length > 1)
    throw new Error(
      `${named.length} ${unrevoked.length > 0 ? '' : 'revoked '}keys are named ${which}: give the id of one, \`fieldgate key list\` prints them`,
    )
  return only
}

function readName(text: string): string {
  const name = text.trim()
  if (name.length === 0 || name.length > MAX_NAME || /\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_NAME} characters, none of them a control character.`)
  }
  return name
}

/** `--scope a,b`, `--scope a b` and `--scope a --scope b` are the same. */
function collectScopes(text: string, before: string[] | undefined): string[] {
  const scopes = text.split(',').map((scope) => scope.trim())
  const unknown = scopes.find((scope) => !SCOPES.includes(scope))
  if (unknown !== undefined) {
    throw usageError(`--scope: found ${JSON.stringify(unknown)}, expected some of ${SCOPES.join(', ')}`)
  }
  return [...new Set([...(before ?? []), ...scopes])]
}
