import { type Command, InvalidArgumentError } from 'commander'
import { SCOPES } from '../../auth/caller.js'
import { hashSecret } from '../../auth/secret.js'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import type { KeyRecord } from '../../storage/access/keys.js'
import { parseDuration } from '../duration.js'
import { type CliDeps, type CliIo, printJson, usageError } from '../io.js'
import { newKeyPair } from '../serving/prepare.js'
import { type Action, findKey, withState } from './with-state.js'

/** Longest name, in characters. Names are stored as `tenant_id` of models. */
const MAX_NAME = 100
/** Time to replace the old secret on every device. */
const DEFAULT_OVERLAP = '24h'

/** Adds the verbs of API keys. They work beside a running gateway, which sees a change at its next call. */
export function addKeyCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const key = program.command('key').description('API keys')
  const verb = <O>(command: Command, act: Action<O>) => withState(command, deps, act)
  key
    .command('create')
    .description('creates a key and prints its secret, once')
    .requiredOption('--name <name>', 'purpose of the key, 1 to 100 characters', readName)
    .requiredOption('--scope <scope...>', `permissions: ${SCOPES.join(', ')}`, collectScopes)
    .option(
      '--table <name...>',
      'tables that another gateway may send and read as feeds with this key; * for all (default: it sends any, reads none)',
    )
    .option('--expires-in <duration>', 'validity, such as 90d (default: no end)', parseDuration)
    .action(async (_options, command: Command) => await verb(command, createKey(io)))
  key
    .command('list')
    .description('prints all keys, revoked ones included, without secrets')
    .action(async (_options, command: Command) => await verb(command, listKeys(io)))
  key
    .command('rotate')
    .description(
      'gives a key a new secret, printed once; the old one and the sessions of the key end after the overlap',
    )
    .argument('<key>', 'id of the key, or its name when only one has it')
    .option(
      '--overlap <duration>',
      'validity of the old secret and of open sessions; 0 ends them at once',
      parseDuration,
      parseDuration(DEFAULT_OVERLAP),
    )
    .action(async (which: string, _options, command: Command) => await verb(command, rotateKey(io, which)))
  key
    .command('revoke')
    .description('revokes a key and ends its sessions, permanently')
    .argument('<key>', 'id of the key, or its name when only one has it')
    .action(async (which: string, _options, command: Command) => await verb(command, revokeKey(io, which)))
}

/** Creates a key. With `--json` it prints the pair and nothing else, which scripts rely on. */
function createKey(
  io: CliIo,
): Action<{ name: string; scope: string[]; table?: string[]; expiresIn?: number }> {
  return async ({ keys, clock, audit, askedFeeds }, { name, scope, table, expiresIn, json }) => {
    const pair = newKeyPair()
    await keys.create({
      keyId: pair.apiKey,
      name,
      scopes: scope,
      secretHash: hashSecret(pair.secret),
      expiresAtUs: expiresIn === undefined ? null : clock.latestUs() + expiresIn * 1_000_000,
    })
    if (table !== undefined) await askedFeeds.grant(pair.apiKey, table)
    const tables = table === undefined ? {} : { tables: table.join(' ') }
    await audit.note({
      ...{ act: 'key-create', keyId: pair.apiKey, keyName: name, scopes: scope.join(' ') },
      ...tables,
    })
    if (json === true) printJson(io, pair)
    else io.stdout.write(`APIKey  ${pair.apiKey}\nSecret  ${pair.secret}\nThe secret is not shown again.\n`)
  }
}

/** Lists keys: times in microseconds with `--json`, in seconds otherwise. */
function listKeys(io: CliIo): Action<unknown> {
  return async ({ keys, clock, askedFeeds }, { json }, { config }) => {
    const offsetMin = parseOffset(config.service.timeZone) ?? 0
    const time = (us: number | null) => (us === null ? null : formatDatetimeShort(us, offsetMin))
    const stateOf = (key: KeyRecord) =>
      key.revokedAtUs !== null ? 'revoked' : clock.hasPassed(key.expiresAtUs) ? 'expired' : 'active'
    const listed = await Promise.all(
      (await keys.list()).map(async (key) => ({ ...key, tables: await askedFeeds.granted(key.keyId) })),
    )
    const rows = listed.map((key) => ({
      apiKey: key.keyId,
      name: key.name,
      state: stateOf(key),
      scopes: key.scopes,
      ...(key.tables.length === 0 ? {} : { tables: key.tables }),
      createdAt: time(key.createdAtUs),
      lastUsedAt: time(key.lastUsedAtUs),
      expiresAt: time(key.expiresAtUs),
      revokedAt: time(key.revokedAtUs),
    }))
    if (json === true) return printJson(io, rows)
    const brief = (text: string | null) => text?.replace(/\.\d+/, '')
    for (const row of rows) {
      const used = row.lastUsedAt === null ? 'never used' : `last used ${brief(row.lastUsedAt)}`
      const tables = row.tables === undefined ? '' : `  tables ${row.tables.join(', ')}`
      const end = row.expiresAt === null ? '' : `, expires ${brief(row.expiresAt)}`
      io.stdout.write(
        `${row.apiKey}  ${row.state.padEnd(7)}  ${row.name}  [${row.scopes.join(' ')}]${tables}  created ${brief(row.createdAt)}, ${used}${end}\n`,
      )
    }
  }
}

/** Rotates a key. Its sessions end with the old secret. */
function rotateKey(io: CliIo, which: string): Action<{ overlap: number }> {
  return async ({ keys, clock, audit }, { overlap, json }, { config }) => {
    const { keyId, name, expiresAtUs } = findKey(which, await keys.list())
    if (clock.hasPassed(expiresAtUs))
      throw new Error(
        `the key ${name} (${keyId}) has expired: create a new one with \`fieldgate key create\``,
      )
    const { secret } = newKeyPair()
    const rotated = await keys.rotate(keyId, hashSecret(secret), overlap)
    if (rotated === undefined)
      throw new Error(`the key ${name} (${keyId}) is revoked: create a new one with \`fieldgate key create\``)
    await audit.note({ act: 'key-rotate', keyId, keyName: name, overlapS: overlap })
    const untilUs = clock.nowUs() + overlap * 1_000_000
    const oldValidUntil = formatDatetimeShort(untilUs, parseOffset(config.service.timeZone) ?? 0)
    if (json === true) return printJson(io, { apiKey: keyId, secret, oldValidUntil })
    io.stdout.write(
      `APIKey  ${keyId}\nSecret  ${secret}\nThe secret is not shown again; the old one and the sessions of the key are valid until ${oldValidUntil}.\n`,
    )
  }
}

/** Revokes a key. A running gateway reads the key at each call, so the next call is refused. */
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
        : `The key ${name} (${keyId}) was already revoked at ${revokedAt?.replace(/\.\d+/, '')}; nothing changed.\n`,
    )
  }
}

function readName(text: string): string {
  const name = text.trim()
  if (name.length === 0 || name.length > MAX_NAME || /\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_NAME} characters without control characters.`)
  }
  return name
}

/** Collects scopes: `--scope a,b`, `--scope a b` and `--scope a --scope b` are equivalent. */
function collectScopes(text: string, before: string[] | undefined): string[] {
  const scopes = text.split(',').map((scope) => scope.trim())
  const unknown = scopes.find((scope) => !SCOPES.includes(scope))
  if (unknown !== undefined) {
    throw usageError(`--scope: found ${JSON.stringify(unknown)}, expected some of ${SCOPES.join(', ')}`)
  }
  return [...new Set([...(before ?? []), ...scopes])]
}
