import { messageOf } from '../../../errors.js'
import type { Connection } from './connection.js'
import { fillOptions, type OpenOptions, type PostgresOptions } from './options.js'
import { createPrimaryFinder, type PrimaryFinder } from './primary.js'

/**
 * Hints that rows were written, between the processes of a hub. None is promised to arrive: readers look at the
 * database by themselves too, only later.
 */
export interface WriteHints {
  /** Calls a listener after writes of any process. Returns a function that ends it. */
  watch(listener: () => void): () => void
  /** Notes that this process has committed rows: its own listeners are called at once, those of others soon. */
  tell(): void
  /** Ends the connection. */
  close(): Promise<void>
}

/** Channel of all hubs of a database; the text of a notification begins with the schema. */
const CHANNEL = 'fieldgate_rows'
/** Time in which writes are gathered, ms: a process sends at most one notification in it. */
const GATHER_MS = 20
/** First and longest wait before a new connection, ms. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
/** Time between two checks of the connection, ms: one to a server that is gone would stay silent for ever. */
const CHECK_EVERY_MS = 30_000
/** Commits of notifications wait for no disk and no standby: they hold no rows. The name is seen in pg_stat_activity. */
const SESSION = `SET synchronous_commit = off; SET application_name = 'fieldgate-hints'`
const NOTIFY = 'SELECT pg_notify($1, $2)'

/**
 * Opens the hints, over a connection of their own to the primary. Without it processes get no hints of others;
 * connecting is tried again for as long as they are open.
 *
 * @param process id of this process, another one after each start
 * @throws Error for options that cannot be used
 */
export function openWriteHints(given: PostgresOptions, process: string): WriteHints {
  const options = fillOptions(given)
  const { schema } = options
  const own = `${schema} ${process}`
  const listeners = new Set<() => void>()
  /** true when others do not know of a write yet: there was no connection */
  let isUnsent = false
  let gathering: NodeJS.Timeout | undefined

  const call = () => {
    for (const listener of listeners) listener()
  }
  const link = keepListening(options, {
    onText(text) {
      if (text.startsWith(`${schema} `) && text !== own) call()
    },
    onOpen() {
      call() // writes of others since the last connection
      if (isUnsent) void notify()
    },
  })
  const notify = async () => {
    isUnsent = false
    if (!(await link.send(NOTIFY, [CHANNEL, own]))) isUnsent = true
  }
  return {
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell() {
      call()
      gathering ??= setTimeout(() => {
        gathering = undefined
        void notify()
      }, GATHER_MS).unref()
    },
    async close() {
      clearTimeout(gathering)
      await link.close()
    },
  }
}

interface Link {
  /** Runs a statement. @returns false without a connection; one that fails is closed, which has another one made */
  send(text: string, values: readonly string[]): Promise<boolean>
  close(): Promise<void>
}

interface LinkEvents {
  /** receives each notification of the channel */
  onText(text: string): void
  /** called whenever notifications arrive from now on */
  onOpen(): void
}

/** Keeps a connection that listens to the channel. */
function keepListening(options: OpenOptions, { onText, onOpen }: LinkEvents): Link {
  const { limits, random, onFault } = options
  const finder = createPrimaryFinder(options)
  let connection: Connection | undefined
  let isClosed = false
  let waitMs = FIRST_WAIT_MS
  let retrying: NodeJS.Timeout | undefined

  const retry = (message: string) => {
    connection = undefined
    if (isClosed) return
    onFault({ message: `no hints from other processes: ${message}` })
    // half of the wait is random, so that processes that lost the same server do not return at once
    retrying = setTimeout(connect, waitMs * (0.5 + random() / 2)).unref()
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
  }
  const connect = () => {
    opening = open().catch((error: unknown) => retry(messageOf(error)))
  }
  const open = async () => {
    const opened = await openListening(finder, onText, limits.connectMs)
    opened.onEnd(() => retry('the connection has ended'))
    connection = opened
    waitMs = FIRST_WAIT_MS
    onOpen()
  }
  const send = async (text: string, values: readonly string[]) => {
    const used = connection
    if (used === undefined) return false
    try {
      await used.run('', text, values, limits.connectMs)
      return true
    } catch {
      await used.close() // `retry` reports the end of the connection
      return false
    }
  }
  const checking = setInterval(() => void send('SELECT 1', []), CHECK_EVERY_MS).unref()
  let opening = Promise.resolve()
  connect()
  return {
    send,
    async close() {
      isClosed = true
      clearTimeout(retrying)
      clearInterval(checking)
      await opening
      await connection?.close()
    },
  }
}

async function openListening(
  finder: PrimaryFinder,
  onText: LinkEvents['onText'],
  limitMs: number,
): Promise<Connection> {
  const opened = await finder.connect()
  try {
    await opened.runAll(SESSION, limitMs)
    await opened.listen(CHANNEL, onText, limitMs)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}
