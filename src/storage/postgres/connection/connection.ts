import pg from 'pg'
import { messageOf } from '../../../errors.js'
import { sendCancelRequest } from './cancel-request.js'
import { COLUMN_VALUES } from './column-values.js'
import { faultOf, NOT_REPLICATED, SILENT } from './faults.js'
import { hostText, type OpenOptions, type PostgresHost } from './options.js'

/** Value of a parameter. Bytes become `bytea`, arrays become arrays of PostgreSQL. */
export type Value = string | number | bigint | boolean | Uint8Array | null | readonly Value[]

/** Values of a row as the server writes them. */
export type TextRow = readonly (string | null)[]

/** A connection to one server. One statement at a time. */
export interface Connection {
  readonly host: PostgresHost
  /** true once it cannot be used any more */
  isBroken(): boolean
  /**
   * Runs a statement, which is parsed and planned once for each connection and name; each time without a name.
   *
   * @param signal cancels it as the limit does
   */
  run(
    name: string,
    text: string,
    values: readonly Value[],
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<pg.QueryResult>
  /**
   * Runs a statement whose rows are lists of values as text, null for null.
   *
   * @param name undefined for a text that hardly comes again: it is planned for its values
   */
  lists(name: string | undefined, text: string, values: readonly Value[], limitMs: number): Promise<TextRow[]>
  /** Runs statements without parameters in one round trip. @returns a result for each */
  runAll(text: string, limitMs: number): Promise<pg.QueryResult[]>
  /**
   * Commits.
   *
   * @param last statement without parameters that runs in the same round trip; when it fails, nothing is committed
   * @throws Error NOT_REPLICATED when the wait for a standby was cancelled: the server reports success then, and
   *   a notice alone says that the standby may lack the transaction
   */
  commit(limitMs: number, last?: string): Promise<void>
  /** Listens to the notifications of a channel. @param onText receives the text of each, this connection's own too */
  listen(channel: string, onText: (text: string) => void, limitMs: number): Promise<void>
  /** Calls a listener once the connection has ended, whoever ended it. */
  onEnd(listener: () => void): void
  close(): Promise<void>
}

/** Time for the answer to a cancel request, ms. */
const CANCEL_MS = 1000
/** Time for the server to end a connection, ms. */
const CLOSE_MS = 1000
/** Time by which the driver waits longer than the server's own limit, ms. */
const SERVER_FIRST_MS = 1000
/** Warning without a class of its own; at a commit, the cancelled wait for a standby. */
const WARNING = '01000'

/** Type parsers that leave every value as it is. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** Opens a connection. @throws Error of Node's sockets, of the driver or of the server */
export async function openConnection(host: PostgresHost, options: OpenOptions): Promise<Connection> {
  const { limits, onFault } = options
  const client = new pg.Client({
    ...{ host: host.host, port: host.port, database: options.database },
    ...{ user: options.user, password: options.password, ssl: options.tls },
    types: COLUMN_VALUES,
    application_name: 'fieldgate',
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    // a process that stops inside a transaction must not hold its locks for ever
    idle_in_transaction_session_timeout: limits.statementMs,
    keepAlive: true,
  })
  let isBroken = false
  let notices: string[] = []
  client.on('error', (error) => {
    if (!isBroken) onFault({ message: messageOf(error), host })
    isBroken = true
  })
  client.on('end', () => {
    isBroken = true
  })
  client.on('notice', ({ code }) => notices.push(String(code)))
  const parts = client as unknown as ClientParts
  try {
    await client.connect()
  } catch (error) {
    parts.connection.stream.destroy()
    throw error
  }
  const limited = limiter(parts, host, () => {
    isBroken = true
  })
  return {
    host,
    isBroken: () => isBroken,
    run: (name, text, values, limitMs, signal) =>
      limited(client.query({ name, text, values: [...values] }), limitMs + SERVER_FIRST_MS, signal),
    async lists(name, text, values, limitMs) {
      const config: pg.QueryArrayConfig = { text, values: [...values], rowMode: 'array', types: AS_TEXT }
      const query = client.query<(string | null)[]>(name === undefined ? config : { ...config, name })
      return (await limited(query, limitMs + SERVER_FIRST_MS)).rows
    },
    async runAll(text, limitMs) {
      // several statements answer an array, which the types of the driver do not know
      const answer: pg.QueryResult | pg.QueryResult[] = await limited(client.query(text), limitMs)
      return Array.isArray(answer) ? answer : [answer]
    },
    async commit(limitMs, last) {
      notices = []
      const text = last === undefined ? 'COMMIT' : `${last}; COMMIT`
      const answer: pg.QueryResult | pg.QueryResult[] = await limited(client.query(text), limitMs)
      const { command } = Array.isArray(answer) ? (answer.at(-1) as pg.QueryResult) : answer
      if (notices.includes(WARNING)) {
        throw faultOf(NOT_REPLICATED, `${hostText(host)}: the wait for a standby was cancelled`)
      }
      // no test: a failed statement ends the work before its commit
      if (command !== 'COMMIT') throw new Error(`found ${command} as answer to COMMIT, expected COMMIT`)
    },
    async listen(channel, onText, limitMs) {
      client.on('notification', ({ payload = '' }) => onText(payload))
      await limited(client.query(`LISTEN "${channel}"`), limitMs)
    },
    onEnd: (listener) => void client.once('end', listener),
    async close() {
      isBroken = true
      // a frozen server never closes its side
      const timer = setTimeout(() => parts.connection.stream.destroy(), CLOSE_MS)
      await client.end()
      clearTimeout(timer)
    },
  }
}

/** Members of the driver's client that its types leave out. */
interface ClientParts {
  readonly processID: number | null
  readonly secretKey: number | null
  readonly connection: { readonly stream: { destroy(): void } }
}

/**
 * Returns a function that waits for an answer. After the limit, or when a signal fires, it cancels the statement; a server
 * that does not even answer that is frozen or gone, and the connection is cut.
 *
 * @param giveUp called when the connection cannot be used any more: a cancel request that arrives late would end
 *   the next statement
 */
function limiter(parts: ClientParts, host: PostgresHost, giveUp: () => void) {
  return <T>(answer: Promise<T>, limitMs: number, signal?: AbortSignal): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const cancel = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', cancel)
        giveUp()
        timer = setTimeout(() => {
          parts.connection.stream.destroy()
          reject(
            faultOf(
              SILENT,
              `${hostText(host)}: no answer within ${limitMs} ms, not even to a cancel request`,
            ),
          )
        }, CANCEL_MS)
        if (parts.processID !== null && parts.secretKey !== null) {
          void sendCancelRequest(host, parts.processID, parts.secretKey)
        }
      }
      let timer = setTimeout(cancel, limitMs)
      signal?.addEventListener('abort', cancel)
      answer.then(resolve, reject).finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', cancel)
      })
    })
}
