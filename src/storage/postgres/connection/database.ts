import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../../errors.js'
import type { Connection, TextRow, Value } from './connection.js'
import { codeOf, faultKind, faultOf, NOT_REPLICATED, toDatabaseError } from './faults.js'
import { fillOptions, type OpenOptions, type PostgresOptions } from './options.js'
import { createPool } from './pool.js'
import { createPrimaryFinder } from './primary.js'
import { createSlots } from './slots.js'
import { createStandbyGate, type StandbyGate } from './standby-gate.js'

export type { TextRow, Value } from './connection.js'

/** Statements. Each text is planned once for each connection, so it must not contain values. */
export interface Rows {
  all<Row>(text: string, ...values: Value[]): Promise<Row[]>
  /** Returns the first row; undefined for none. */
  get<Row>(text: string, ...values: Value[]): Promise<Row | undefined>
  /** Returns rows as lists of values as text. The text of a statement that is `once` is not kept. */
  lists(text: string, values: readonly Value[], kind: 'kept' | 'once'): Promise<TextRow[]>
  /** Returns the number of rows that were written. */
  run(text: string, ...values: Value[]): Promise<number>
  /** Runs a statement whose text depends on the caller: it is planned for this call alone. */
  once<Row>(text: string, ...values: Value[]): Promise<Row[]>
}

/** Knowledge of a transaction about its earlier attempts. */
export interface Attempt {
  /**
   * true when an earlier attempt may have been committed: the connection was lost before the answer. Rows of this
   * write may exist then, and must not be made twice.
   */
  readonly isRepeat: boolean
  /** first row of the answer to `WriteOptions.first`; undefined for none */
  readonly first: Readonly<Record<string, unknown>> | undefined
  /** rows of the answer to `WriteOptions.second` */
  readonly second: readonly Readonly<Record<string, unknown>>[]
  /** Gives a statement without parameters that runs in the round trip of the commit. */
  endWith(text: string): void
}

export interface WriteOptions {
  /** false for work that must not run twice, because it acts outside the database too; true unless given */
  readonly canRepeat?: boolean
  /** statement of the round trip in which the transaction begins; without parameters */
  readonly first?: string
  /** statement behind `first`, in the same round trip; without parameters */
  readonly second?: string
  /** time for each of its statements, ms; that of the options unless given */
  readonly statementMs?: number
}

/** Database of PostgreSQL. All methods throw the errors of `toDatabaseError`. */
export interface PostgresDb {
  readonly schema: string
  /** Reads from the primary, each statement for itself. */
  readonly read: Rows
  /**
   * Reads from the primary, all statements from one state of the tables. Failures that pass are repeated, so `work`
   * must be safe to repeat.
   */
  readState<T>(work: (rows: Rows) => Promise<T>): Promise<T>
  /**
   * Runs a transaction at the level READ COMMITTED. It is acknowledged once this returns: committed here and, where
   * one is named, on a synchronous standby. Failures that pass are repeated, so `work` must be safe to repeat.
   */
  write<T>(work: (rows: Rows, attempt: Attempt) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Runs one statement that no transaction may hold, such as one that builds an index beside writes. It is not repeated.
   *
   * @param statementMs time for it, ms
   * @param signal cancels it
   */
  alone<Row>(text: string, statementMs: number, signal?: AbortSignal): Promise<Row[]>
  /** Ends the connections, after running work. A second call does nothing. */
  close(): Promise<void>
}

/** Connections that writes leave to reads: while a standby is dead, all commits wait. */
const KEPT_FOR_READS = 2
/** Reads of one state at a time: each keeps its connection for several statements. */
const MOST_STATES = 2
const BEGIN_STATE = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'
/** First and longest wait before a repeat, ms. */
const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000

/**
 * Begins a transaction and answers how its commit will be kept.
 *
 * The message is a record of the log without a row. It makes each commit wait for the standby: one that wrote
 * nothing would not, and a repeat that finds its rows in place, written by an attempt whose wait was cut short,
 * would be acknowledged while the standby lacks them.
 */
const BEGIN = `BEGIN; SELECT current_setting('synchronous_commit') AS "commits",
  current_setting('synchronous_standby_names') AS "standbys",
  CASE WHEN current_setting('synchronous_standby_names') <> ''
    THEN pg_logical_emit_message(true, 'fieldgate', '') END`

/** Opens a database. It connects with the first statement. @throws Error for options that cannot be used */
export function openPostgres(given: PostgresOptions): PostgresDb {
  const options = fillOptions(given)
  const { limits } = options
  const pool = createPool(createPrimaryFinder(options), limits)
  const writers = createSlots(Math.max(1, limits.connections - KEPT_FOR_READS), limits.waitMs)
  const states = createSlots(Math.min(MOST_STATES, limits.connections), limits.waitMs)
  const nameOf = statementNames()
  const gate = createStandbyGate({
    async probe() {
      await pool.leaveReplaced() // a primary that was cut off from its standby, which is the primary now
      await pool.lend((connection) => runTransaction(connection, options, { attempt: newAttempt() }, noWork))
    },
    onFault: options.onFault,
  })
  const transact = async <T>(
    work: (rows: Rows, attempt: Attempt) => Promise<T>,
    { statementMs, first, second }: WriteOptions,
    attempt: RunningAttempt,
  ) => {
    gate.requireOpen()
    await writers.take()
    try {
      gate.requireOpen() // another write may have shut it while this one waited
      return await pool.lend((connection) =>
        runTransaction(connection, options, { attempt, opening: [first, second], gate }, async () => {
          if (statementMs !== undefined) await setLimit(connection, statementMs)
          return await work(rowsOf(connection, nameOf, statementMs ?? limits.statementMs), attempt)
        }),
      )
    } finally {
      writers.give()
    }
  }
  return {
    schema: options.schema,
    read: readRows((work) =>
      repeated(options, () =>
        pool.lend((connection) => work(rowsOf(connection, nameOf, limits.statementMs))),
      ),
    ),
    readState: (work) =>
      repeated(options, async () => {
        await states.take()
        try {
          return await pool.lend((connection) =>
            inState(connection, limits.statementMs, () =>
              work(rowsOf(connection, nameOf, limits.statementMs)),
            ),
          )
        } finally {
          states.give()
        }
      }),
    write: (work, settings = {}) =>
      repeated(options, (attempt) => transact(work, settings, attempt), settings.canRepeat ?? true),
    async alone(text, statementMs, signal) {
      signal?.throwIfAborted()
      try {
        return await pool.lend((connection) => runAlone(connection, text, { limits, statementMs, signal }))
      } catch (error) {
        throw toDatabaseError(error, options.random)
      }
    },
    async close() {
      await Promise.all([gate.close(), pool.close()])
    },
  }
}

interface RunningAttempt extends Attempt {
  first: Attempt['first']
  second: Attempt['second']
  /** statement of the round trip of the commit; undefined for none */
  end: string | undefined
  /** true once the commit was sent: only its answer says whether it took place */
  isInDoubt: boolean
}

function newAttempt(isRepeat = false): RunningAttempt {
  const attempt: RunningAttempt = {
    ...{ isRepeat, isInDoubt: false, first: undefined, second: [], end: undefined },
    endWith(text) {
      attempt.end = text
    },
  }
  return attempt
}

async function noWork(): Promise<void> {
  // a probe: its beginning writes to the log, so that its commit waits for the standby
}

async function setLimit(connection: Connection, statementMs: number): Promise<void> {
  await connection.runAll(`SET LOCAL statement_timeout = ${Math.ceil(statementMs)}`, statementMs)
}

async function runAlone<Row>(
  connection: Connection,
  text: string,
  {
    limits,
    statementMs,
    signal,
  }: { limits: OpenOptions['limits']; statementMs: number; signal: AbortSignal | undefined },
): Promise<Row[]> {
  await connection.runAll(`SET statement_timeout = ${Math.ceil(statementMs)}`, limits.statementMs)
  try {
    signal?.throwIfAborted()
    const { rows } = await connection.run('', text, [], statementMs, signal)
    return rows as Row[]
  } finally {
    if (!connection.isBroken()) await runOrClose(connection, 'RESET statement_timeout', limits.statementMs)
  }
}

interface Transaction {
  readonly attempt: RunningAttempt
  /** statements of the round trip in which it begins */
  readonly opening?: readonly (string | undefined)[]
  /** absent for the probe of the gate itself */
  readonly gate?: StandbyGate
}

async function runTransaction<T>(
  connection: Connection,
  { limits, requiresSync }: OpenOptions,
  { attempt, opening = [], gate }: Transaction,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const text = [BEGIN, ...opening.filter((statement) => statement !== undefined)].join('; ')
    const [, begun, first, second] = await connection.runAll(text, limits.statementMs)
    if (requiresSync) requireSync(begun?.rows[0])
    attempt.first = first?.rows[0]
    attempt.second = second?.rows ?? []
    gate?.requireOpen() // the lock of a row was perhaps what this has waited for
    const result = await work()
    gate?.requireOpen()
    attempt.isInDoubt = true
    await connection.commit(limits.commitMs, attempt.end)
    return result
  } catch (error) {
    if (attempt.isInDoubt && codeOf(error) === NOT_REPLICATED) gate?.shut()
    // after a failed commit there is no transaction any more, and the statement changes nothing
    if (!connection.isBroken()) await runOrClose(connection, 'ROLLBACK', limits.statementMs)
    throw error
  }
}

/** Runs statements that all see the rows which were committed when the first of them began. */
async function inState<T>(connection: Connection, limitMs: number, work: () => Promise<T>): Promise<T> {
  await connection.runAll(BEGIN_STATE, limitMs)
  try {
    const result = await work()
    await connection.runAll('COMMIT', limitMs)
    return result
  } catch (error) {
    if (!connection.isBroken()) await runOrClose(connection, 'ROLLBACK', limitMs)
    throw error
  }
}

/**
 * Runs a statement that leaves no trace of the work before. A connection that cannot do that is closed, which does the
 * same.
 */
async function runOrClose(connection: Connection, text: string, limitMs: number): Promise<void> {
  try {
    await connection.runAll(text, limitMs)
  } catch {
    // no test: the connection would have to fail at this very statement; the error of the work is reported
    await connection.close()
  }
}

/** @throws Error NOT_REPLICATED unless a commit waits for a named standby */
function requireSync(found: { commits: string; standbys: string } | undefined): void {
  const isOn = found?.commits === 'on' || found?.commits === 'remote_apply'
  if (isOn && found.standbys !== '') return
  throw faultOf(
    NOT_REPLICATED,
    `found synchronous_commit = ${found?.commits}, synchronous_standby_names = '${found?.standbys}', expected on and a standby`,
  )
}

/** Repeats work until it succeeds, fails for good, or the time is over. @throws what `toDatabaseError` returns */
async function repeated<T>(
  { limits, random, onFault }: OpenOptions,
  work: (attempt: RunningAttempt) => Promise<T>,
  canRepeat = true,
): Promise<T> {
  const untilMs = performance.now() + limits.repeatMs
  let isRepeat = false
  for (let attempts = 1; ; attempts++) {
    const attempt = newAttempt(isRepeat)
    try {
      return await work(attempt)
    } catch (error) {
      const kind = faultKind(error)
      // half of the wait is random, so that processes that lost the same server do not return at once
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)) * (0.5 + random() / 2)
      const isPassing = kind === 'lost' || kind === 'not primary' || kind === 'conflict'
      if (!canRepeat || !isPassing || performance.now() + waitMs > untilMs)
        throw toDatabaseError(error, random)
      onFault({ message: `repeats after: ${messageOf(error)}` })
      isRepeat ||= attempt.isInDoubt && kind === 'lost'
      await delay(waitMs)
    }
  }
}

/** Names of prepared statements, by their text. */
function statementNames(): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `fieldgate_${names.size}`
    names.set(text, name)
    return name
  }
}

function rowsOf(connection: Connection, nameOf: (text: string) => string, limitMs: number): Rows {
  const run = (text: string, values: Value[]) => connection.run(nameOf(text), text, values, limitMs)
  return {
    all: async (text, ...values) => (await run(text, values)).rows,
    get: async (text, ...values) => (await run(text, values)).rows[0],
    run: async (text, ...values) => (await run(text, values)).rowCount ?? 0,
    once: async (text, ...values) => (await connection.run('', text, values, limitMs)).rows,
    lists: (text, values, kind) =>
      connection.lists(kind === 'kept' ? nameOf(text) : undefined, text, values, limitMs),
  }
}

/** Rows whose statements each take a connection for themselves. */
function readRows(lend: <T>(work: (rows: Rows) => Promise<T>) => Promise<T>): Rows {
  return {
    all: (text, ...values) => lend((rows) => rows.all(text, ...values)),
    get: (text, ...values) => lend((rows) => rows.get(text, ...values)),
    run: (text, ...values) => lend((rows) => rows.run(text, ...values)),
    once: (text, ...values) => lend((rows) => rows.once(text, ...values)),
    lists: (text, values, kind) => lend((rows) => rows.lists(text, values, kind)),
  }
}
