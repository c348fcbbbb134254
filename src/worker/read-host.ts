import type { MessagePort } from 'node:worker_threads'
import { throwIfCancelled } from './host.js'
import { type FromReader, type ToReader, WINDOW_CHARS } from './read-protocol.js'
import { createTurns, type Turns } from './turns.js'
import { toWire } from './wire-error.js'

/** Context of a job in a reader thread. */
export interface ReadWork {
  /** element 0 becomes `CANCEL_ASKED` when the job must end: read at each row, also within a statement */
  readonly cancel: Int32Array
  /** fires at the same time, as soon as the thread's event loop turns */
  readonly signal: AbortSignal
}

/** Answer of a job: text that is made while it is taken, and what must be known before its first part. */
export interface ReadAnswer {
  readonly head?: unknown
  readonly text: AsyncIterable<string>
}

// biome-ignore lint/suspicious/noExplicitAny: each handler knows its own payload; the caller's types hold the pair together
export type ReadHandler = (payload: any, work: ReadWork) => ReadAnswer | Promise<ReadAnswer>

/** Handlers over one connection, for one job at a time. */
export interface ReadSession {
  readonly handlers: Readonly<Record<string, ReadHandler>>
  /**
   * Fixes the state of the tables that the next job reads.
   *
   * @param cancel flag that ends its statements
   * @param nextTurn waits for the job's next turn: called after each slice of work
   */
  begin(cancel: Int32Array, nextTurn: () => Promise<void>): void
  /** Lets go of the state. */
  end(): void
  close(): void
}

/** Characters that are collected before they are sent: a message costs as much as several thousand. */
const GATHER_CHARS = 32 * 1024
/** Work on chunks after which the other jobs of the thread have their turns, ms. */
const SLICE_MS = 5
/** Most characters of one message. */
const PIECE_CHARS = 128 * 1024
/** Sessions without a job that are kept: opening one costs about a millisecond. */
const MAX_IDLE_SESSIONS = 2

interface Job {
  /** characters that may be sent before the next `take`; below 0 after a large piece */
  credit: number
  readonly stopping: AbortController
  readonly cancel: Int32Array
  /** waits for the job's next turn */
  readonly nextTurn: () => Promise<void>
  /** continues a job that waits for credit */
  wake: (() => void) | undefined
}

interface Host {
  readonly port: MessagePort
  readonly jobs: Map<number, Job>
  readonly idle: ReadSession[]
  readonly turns: Turns
  openSession(): ReadSession
}

/**
 * Answers the jobs of a reader thread. Jobs run side by side, each in a session of its own: one that waits
 * for its caller keeps no other from running. They run in turns, see `createTurns`, as long as each awaits
 * `nextTurn` between its slices of work.
 */
export function serveReads(port: MessagePort, openSession: () => ReadSession): void {
  const host: Host = { port, jobs: new Map(), idle: [], turns: createTurns(), openSession }
  port.on('message', (message: ToReader) => {
    if (message.kind === 'open') return void runJob(host, message)
    const job = host.jobs.get(message.id)
    if (job === undefined) return // it ended meanwhile
    if (message.kind === 'take') job.credit += message.chars
    else job.stopping.abort()
    job.wake?.()
  })
}

async function runJob(host: Host, message: Extract<ToReader, { kind: 'open' }>): Promise<void> {
  const { id, cancel, owner } = message
  const nextTurn = host.turns.enter(owner)
  const stopping = new AbortController()
  const job: Job = { credit: WINDOW_CHARS, stopping, cancel, nextTurn, wake: undefined }
  host.jobs.set(id, job)
  try {
    await nextTurn()
    const last = await inSession(host, job, (session) => answer(host.port, session, job, message))
    post(host.port, { kind: 'end', id, ...last, error: null })
  } catch (error) {
    post(host.port, { kind: 'end', id, text: '', head: undefined, error: toWire(error) })
  } finally {
    host.jobs.delete(id)
  }
}

/** Runs `work` in a session. One whose begin or end fails is closed and not used again. */
async function inSession<T>(
  { idle, openSession }: Host,
  { cancel, nextTurn }: Job,
  work: (session: ReadSession) => Promise<T>,
): Promise<T> {
  const session = idle.pop() ?? openSession()
  let isSound = false
  try {
    session.begin(cancel, nextTurn)
    try {
      return await work(session)
    } finally {
      session.end()
      isSound = true
    }
  } finally {
    if (isSound && idle.length < MAX_IDLE_SESSIONS) idle.push(session)
    else session.close()
  }
}

/** Last piece of an answer, with the head unless an earlier piece had it. */
interface LastPiece {
  readonly text: string
  readonly head: unknown
}

/** Sends all pieces of an answer but the last, which is returned. */
async function answer(
  port: MessagePort,
  { handlers }: ReadSession,
  job: Job,
  { id, name, payload, cancel }: Extract<ToReader, { kind: 'open' }>,
): Promise<LastPiece> {
  const handler = handlers[name]
  if (handler === undefined) throw new Error(`the reader has no handler ${name}`)
  throwIfCancelled({ cancel })
  const made = await handler(payload, { cancel, signal: job.stopping.signal })
  let { head } = made
  let text = ''
  let sinceMs = performance.now()
  for await (const chunk of made.text) {
    text += chunk
    if (text.length >= GATHER_CHARS) {
      // the text of a large row is not copied as a whole to a thread whose caller may not read it
      for (let at = 0; at < text.length; at += PIECE_CHARS) {
        const piece = text.slice(at, at + PIECE_CHARS)
        post(port, { kind: 'piece', id, text: piece, head })
        job.credit -= piece.length
        head = undefined
        await creditOf(job)
      }
      text = ''
    }
    if (performance.now() - sinceMs < SLICE_MS) continue
    await job.nextTurn()
    sinceMs = performance.now()
  }
  return { text, head }
}

/** Waits until the job may send, and then for its turn. @throws AppError CANCELLED */
async function creditOf(job: Job): Promise<void> {
  const mustWait = job.credit <= 0
  while (job.credit <= 0 && !job.stopping.signal.aborted) {
    await new Promise<void>((resolve) => {
      job.wake = resolve
    })
    job.wake = undefined
  }
  if (mustWait) await job.nextTurn()
  throwIfCancelled(job)
}

function post(port: MessagePort, message: FromReader): void {
  port.postMessage(message)
}
