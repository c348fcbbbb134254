import { type Command, InvalidArgumentError } from 'commander'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import type { ListedSession } from '../../storage/access/sessions.js'
import { type CliDeps, type CliIo, printJson, usageError } from '../io.js'
import { type Action, findKey, type SharedState, withState } from './with-state.js'

/** Sessions that `session list` prints without `--limit`. */
const DEFAULT_LIMIT = 1000

/** Adds the verbs of sessions. They work beside a running gateway, which refuses an ended one at its next call. */
export function addSessionCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const session = program.command('session').description('sessions of API keys')
  const verb = <O>(command: Command, act: Action<O>) => withState(command, deps, act)
  session
    .command('list')
    .description('prints open sessions, the newest first, without tokens')
    .option('--key <key>', 'sessions of one key, by its id, or its name when only one has it')
    .option('--limit <count>', 'most sessions', readCount, DEFAULT_LIMIT)
    .action(async (_options, command: Command) => await verb(command, listSessions(io)))
  session
    .command('end')
    .description('ends sessions: those named, or all of a key')
    .argument('[session...]', 'ids of sessions, as `session list` prints them')
    .option('--key <key>', 'ends all sessions of this key')
    .action(async (ids: string[], _options, command: Command) => await verb(command, endSessions(io, ids)))
}

/** Lists sessions. The last use is that which the gateway has stored: up to an hour earlier than the real one. */
function listSessions(io: CliIo): Action<{ key?: string; limit: number }> {
  return async ({ keys, sessions }, { key, limit, json }, { config }) => {
    const known = await keys.list()
    const keyId = key === undefined ? null : findKey(key, known).keyId
    const offsetMin = parseOffset(config.service.timeZone) ?? 0
    const time = (us: number) => formatDatetimeShort(us, offsetMin)
    const nameOf = new Map(known.map((one) => [one.keyId, one.name]))
    const rows = (await sessions.list({ keyId, limit, offset: 0 })).map((session: ListedSession) => ({
      sessionId: session.sessionId,
      apiKey: session.keyId,
      keyName: nameOf.get(session.keyId) ?? '',
      createdAt: time(session.createdAtUs),
      lastUsedAt: time(session.lastUsedAtUs),
      expiresAt: time(session.expiresAtUs),
      idleAt: session.idleAtUs === null ? null : time(session.idleAtUs),
    }))
    if (json === true) return printJson(io, rows)
    const brief = (text: string) => text.replace(/\.\d+/, '')
    for (const row of rows)
      io.stdout.write(
        `${row.sessionId}  ${row.keyName}  opened ${brief(row.createdAt)}, last used ${brief(row.lastUsedAt)}, expires ${brief(row.expiresAt)}\n`,
      )
    if (rows.length === 0) io.stdout.write('no session is open\n')
  }
}

/** Ends sessions. @throws Error when an id names no open session; the sessions of the other ids have ended then */
function endSessions(io: CliIo, ids: readonly string[]): Action<{ key?: string }> {
  return async (state, { key, json }) => {
    if ((key === undefined) === (ids.length === 0))
      throw usageError('expected ids of sessions, or --key, and not both')
    const missing: string[] = []
    let ended = key === undefined ? 0 : await endOfKey(state, key)
    for (const sessionId of ids) {
      if (await endOne(state, sessionId)) ended++
      else missing.push(sessionId)
    }
    if (json === true) printJson(io, { ended, missing })
    else io.stdout.write(`${ended} ${ended === 1 ? 'session has' : 'sessions have'} ended\n`)
    if (missing.length > 0)
      throw new Error(
        `no open session has the id ${missing.join(', ')}: \`fieldgate session list\` prints them`,
      )
  }
}

/** Ends all sessions of a key. @returns their number */
async function endOfKey({ keys, sessions, audit }: SharedState, key: string): Promise<number> {
  const { keyId, name } = findKey(key, await keys.list())
  const ended = await sessions.endAll(keyId)
  if (ended > 0) await audit.note({ act: 'session-end', keyId, keyName: name, sessions: ended })
  return ended
}

/** Ends a session. @returns false when no open one has the id */
async function endOne({ keys, sessions, audit }: SharedState, sessionId: string): Promise<boolean> {
  const ended = await sessions.end(sessionId, null)
  if (ended === undefined) return false
  const { keyId } = ended
  const keyName = (await keys.find(keyId))?.name ?? ''
  await audit.note({ act: 'session-end', keyId, keyName, sessionId })
  return true
}

function readCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidArgumentError('Expected a whole number from 1.')
  return count
}
