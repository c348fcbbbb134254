import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { AppError } from '../../src/errors.js'
import { createLog } from '../../src/log.js'
import { type ReadHandler, serveReads } from '../../src/worker/read-host.js'
import {
  createReaderPool,
  type ReaderPool,
  type ReaderPoolOptions,
  type ReadOptions,
  type ReadResult,
} from '../../src/worker/reader-pool.js'
import type { SpawnedReader } from '../../src/worker/reader-threads.js'

/** What the threads of a test did, in order. */
export interface Seen {
  readonly events: string[]
  readonly logLines: string[]
}

export type Handlers = Readonly<Record<string, ReadHandler>>

/** A pool whose reads have an owner unless one is given. */
export interface TestPool extends Omit<ReaderPool, 'read'> {
  read(name: string, payload: unknown, options?: Partial<ReadOptions>): Promise<ReadResult>
}

/** A pool whose threads are ports of this thread. */
export function poolOf(
  t: { teardown(work: () => unknown): unknown },
  handlers: (threadNumber: number) => Handlers | undefined,
  more: Partial<ReaderPoolOptions> = {},
): { pool: TestPool; seen: Seen } {
  const seen: Seen = { events: [], logLines: [] }
  let threads = 0
  const pool = createReaderPool({
    spawn: () => portThread(++threads, handlers(threads), seen),
    log: createLog('debug', { write: (line) => void seen.logLines.push(line) }),
    maxThreads: 2,
    maxOpen: 4,
    maxWaiting: 10,
    timeLimitMs: 60_000,
    ...more,
  })
  t.teardown(() => pool.stop())
  const read: TestPool['read'] = (name, payload, options = {}) =>
    pool.read(name, payload, { owner: 'one', ...options })
  return { pool: { ...pool, read }, seen }
}

/** @param handlers undefined for a thread that never reacts */
export function portThread(number: number, handlers: Handlers | undefined, seen: Seen): SpawnedReader {
  const { port1, port2 } = new MessageChannel()
  if (handlers !== undefined) serveReads(port2 as MessagePort, () => session(handlers, seen))
  seen.events.push(`start ${number}`)
  return {
    postMessage: (message: unknown) => port1.postMessage(message),
    on(name: string, listener: (value: never) => void) {
      if (name === 'message') port1.on('message', listener as (value: unknown) => void)
      return this as never
    },
    async terminate() {
      seen.events.push(`terminate ${number}`)
      port1.close()
      port2.close()
      return 1
    },
  } as SpawnedReader
}

export function session(handlers: Handlers, { events }: Seen) {
  return {
    handlers,
    begin: () => void events.push('begin'),
    end: () => void events.push('end'),
    close: () => void events.push('close'),
  }
}

export async function* texts(
  parts: readonly string[],
  onEnd: () => void = () => undefined,
): AsyncGenerator<string> {
  try {
    for (const part of parts) yield part
  } finally {
    onEnd()
  }
}

export async function whole({ text }: { text: string | AsyncIterable<string> }): Promise<string> {
  if (typeof text === 'string') return text
  let all = ''
  for await (const part of text) all += part
  return all
}

export const LARGE = 'x'.repeat(40_000)
export const say: Handlers = {
  say: (words: string[]) => ({ head: words.length, text: texts(words) }),
  fail: () => {
    throw new AppError('UNKNOWN_TABLE', { data_name: 'x' }, { message: 'no table x' })
  },
  failLate: () => ({
    text: (async function* () {
      yield LARGE
      throw new Error('a late fault')
    })(),
  }),
}

/** Lets messages between ports pass. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve))
}
