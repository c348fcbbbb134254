import { EventEmitter } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { type ReadSession, serveReads } from './read-host.js'
import { createReaderPool, type ReaderPool, type ReaderPoolOptions } from './reader-pool.js'
import type { SpawnedReader } from './reader-threads.js'

/**
 * Time that a read has to react to its end, ms: as long as a statement of the database may take. Ending what serves the
 * reads of this thread would not end the statement.
 */
const GRACE_MS = 600_000

/**
 * Creates a pool whose reads run in this thread: for reads that wait for a database most of the time, and yield. Places,
 * shares of owners, windows of text and limits are those of threads, so that many large answers take little memory.
 */
export function createReadsHere(
  openSession: () => ReadSession,
  options: Omit<ReaderPoolOptions, 'spawn' | 'maxThreads' | 'graceMs'>,
): ReaderPool {
  return createReaderPool({
    ...options,
    maxThreads: 1,
    graceMs: GRACE_MS,
    spawn: () => spawnHere(openSession),
  })
}

/** Serves reads in this thread, with the messages of a thread. */
function spawnHere(openSession: () => ReadSession): SpawnedReader {
  const { port1, port2 } = new MessageChannel()
  const events = new EventEmitter()
  serveReads(port1, openSession)
  port2.on('message', (message) => events.emit('message', message))
  return {
    postMessage: (message) => port2.postMessage(message),
    on: (event: string, listener: (value: never) => void) =>
      events.on(event, listener as (value: unknown) => void),
    async terminate() {
      port2.close() // and with it the other end
      events.emit('exit')
    },
  }
}
