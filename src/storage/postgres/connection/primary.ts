import { messageOf } from '../../../errors.js'
import { type Connection, openConnection } from './connection.js'
import { faultKind, faultOf, NO_PRIMARY } from './faults.js'
import { hostText, type OpenOptions, type PostgresHost } from './options.js'

/** Finds the primary among the hosts. */
export interface PrimaryFinder {
  /**
   * Opens a connection to the primary.
   *
   * @throws Error NO_PRIMARY where no host takes writes now; another error where a repeat does not help
   */
  connect(): Promise<Connection>
  /**
   * Looks at all hosts for a primary that has replaced the one that is used.
   *
   * @returns true where there is one: later connections are to it, or to none
   */
  isReplaced(): Promise<boolean>
}

/**
 * Answers whether the server takes writes. The connection gets the path of its schema, and waits for a standby at
 * commits also where the database or the role was told to skip that. Doubles are written with all their digits.
 * Statements are short: compiling one takes longer than running it.
 */
const BEGIN_SESSION = `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'
    AS "isReadOnly",
  CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline,
  set_config('search_path', $1, false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
  set_config('extra_float_digits', '1', false), set_config('bytea_output', 'hex', false),
  set_config('jit', 'off', false)`

/**
 * Creates a finder. It begins with the host that was the primary last.
 *
 * Each promotion begins a timeline with a higher number. A primary of a lower one than was seen before was replaced
 * while it was away, and does not know it: what is written there would be lost. So the first connection of a process
 * is made after a look at all hosts.
 */
export function createPrimaryFinder(options: OpenOptions): PrimaryFinder {
  let hosts = [...options.hosts]
  /** highest timeline of a primary, 8 hexadecimal digits */
  let timeline = ''
  const isReplaced = async () => {
    const before = timeline
    const found = await Promise.all(hosts.map((host) => timelineOf(host, options)))
    for (const each of found) if (each > timeline) timeline = each
    return timeline > before
  }
  return {
    isReplaced,
    async connect() {
      if (timeline === '' && hosts.length > 1) await isReplaced()
      const faults: { host: PostgresHost; error: unknown }[] = []
      for (const host of hosts) {
        try {
          const opened = await openWritable(host, options, timeline)
          hosts = [host, ...hosts.filter((other) => other !== host)]
          if (opened.timeline > timeline) timeline = opened.timeline
          return opened.connection
        } catch (error) {
          faults.push({ host, error })
        }
      }
      throw chooseFault(faults)
    },
  }
}

/** @returns timeline of a host that takes writes; an empty text for another one, or one that cannot be reached */
async function timelineOf(host: PostgresHost, options: OpenOptions): Promise<string> {
  try {
    const { connection, timeline } = await openWritable(host, options, '')
    await connection.close()
    return timeline
  } catch {
    return '' // `connect` reports why a host cannot be used
  }
}

async function openWritable(
  host: PostgresHost,
  options: OpenOptions,
  seen: string,
): Promise<{ connection: Connection; timeline: string }> {
  const connection = await openConnection(host, options)
  try {
    // geometry types may be in `public`
    const path = [`"${options.schema}", public`]
    const { rows } = await connection.run('begin_session', BEGIN_SESSION, path, options.limits.connectMs)
    const [row] = rows
    if (row?.isReadOnly !== false) throw faultOf(NO_PRIMARY, 'a standby, or read-only')
    const timeline = String(row.timeline)
    if (timeline >= seen) return { connection, timeline }
    throw faultOf(NO_PRIMARY, `a primary of timeline ${timeline}, expected ${seen} or later: it was replaced`)
  } catch (error) {
    await connection.close()
    throw error
  }
}

/**
 * The error of all hosts together. One that a repeat does not change, such as a refused password, stands for all
 * only where every host has one: a standby may lack what the primary, which is away now, has.
 */
function chooseFault(faults: readonly { host: PostgresHost; error: unknown }[]): unknown {
  const [first] = faults
  if (faults.every(({ error }) => faultKind(error) === undefined)) return first?.error
  const crowded = faults.find(({ error }) => faultKind(error) === 'crowded')
  if (crowded !== undefined) return crowded.error
  const reasons = faults.map(({ host, error }) => `${hostText(host)}: ${messageOf(error)}`)
  return faultOf(NO_PRIMARY, `no primary found: ${reasons.join('; ')}`)
}
