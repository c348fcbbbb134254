import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Work } from '../../src/worker/host.js'

/** Makes the context of a call in a worker thread, whose turn is the next one of the event loop. */
export function workOf(own: Partial<Work> = {}): Work {
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  return { cancel, owner: '', nextTurn, emit: () => undefined, ...own }
}
