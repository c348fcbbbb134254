import type { IncomingMessage } from 'node:http'
import { createOwnerQueue } from '../../owner-queue.js'

/** Line of requests of other gateways that have arrived whole and are not answered yet. */
export interface Line {
  /**
   * Begins to answer a request: at once while few are being answered, else when one of them has been.
   *
   * @param owner network of the client: those with requests have turns, whatever the number of requests
   * @param answer settles when all work for the request is done, whether its client takes the answer or not
   */
  run(owner: string, answer: () => Promise<void>): void
}

/** Requests of a line that are answered at the same time: a hundred batches are stored together, and more are read then. */
export const MOST_AT_ONCE = 256
/** Largest body that a packet or some bring, bytes. */
const SMALL_BYTES = 16 * 1024
/** What all gateways of a hub send, and send again at once when their links are back. None of it waits for news. */
const PATHS = {
  batches: /^\/api\/v2\/sync\/tables\/[^/?]+\/batches(?:\?|$)/,
  calls: /^\/api\/v2\/(?:sync|fleet)\/jsonrpc(?:\?|$)/,
}

/** Creates the lines: batches do not wait for calls, nor calls for batches. */
export function createLines(): Record<keyof typeof PATHS, Line> {
  return { batches: createLine(), calls: createLine() }
}

/** Tells the line of a request; undefined for one that is answered without. */
export function lineOf({ method, url = '', headers }: IncomingMessage): keyof typeof PATHS | undefined {
  if (method !== 'POST' || !url.startsWith('/api/v2/')) return undefined
  const isSmall = Number(headers['content-length'] ?? Number.NaN) <= SMALL_BYTES // not without one
  if (!isSmall) return undefined
  if (PATHS.batches.test(url)) return 'batches'
  return PATHS.calls.test(url) ? 'calls' : undefined
}

/**
 * Creates a line. When thousands of gateways send at once, a batch that waits for its table takes 31 kB of objects,
 * with its rows and all that was called for it; here it takes a third of that. Only what has arrived whole may
 * come here: a slow sender would keep the places of the others.
 *
 * @param most requests that are answered at the same time
 */
export function createLine(most = MOST_AT_ONCE): Line {
  const waiting = createOwnerQueue<() => void>()
  let running = 0
  const serve = () => {
    while (running < most) {
      const start = waiting.take()
      if (start === undefined) return
      start()
    }
  }
  return {
    run(owner, answer) {
      waiting.push(owner, () => {
        running++
        void answer().finally(() => {
          running--
          serve()
        })
      })
      serve()
    },
  }
}
