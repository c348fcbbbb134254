import { createOwnerQueue } from '../../owner-queue.js'

/** Turns of requests that wait to be answered. */
export interface RequestTurns {
  /**
   * Begins to answer a request: at once while there is little to do, else when it is its turn.
   *
   * @param owner network of the client: those with requests have turns, whatever the number of requests
   */
  run(owner: string, work: () => void): void
  /** Notes that a connection was accepted: more may wait, and one is accepted in each turn of the event loop. */
  accepted(): void
}

/** Time in which requests begin in one turn of the event loop, ms. */
const SLICE_MS = 2
/** The same while connections are accepted, ms: 750 that wait took 4 s with slices of 5 ms. */
const ACCEPTING_SLICE_MS = 0.5

/**
 * Creates the turns of requests. A thousand that arrive together would hold the event loop until the last of
 * them has begun; here it turns in between, and other clients have their turns.
 *
 * @param nowMs clock
 */
export function createRequestTurns(nowMs = () => performance.now()): RequestTurns {
  const waiting = createOwnerQueue<() => void>()
  let usedMs = 0
  let isAccepting = false
  let isScheduled = false

  const begin = (work: () => void) => {
    const startedMs = nowMs()
    try {
      work()
    } finally {
      usedMs += nowMs() - startedMs
    }
  }
  const nextSlice = () => {
    isScheduled = false
    usedMs = 0
    const sliceMs = isAccepting ? ACCEPTING_SLICE_MS : SLICE_MS
    isAccepting = false
    if (waiting.size() > 0) schedule()
    while (usedMs < sliceMs) {
      const work = waiting.take()
      if (work === undefined) return
      begin(work)
    }
  }
  const schedule = () => {
    if (!isScheduled) setImmediate(nextSlice)
    isScheduled = true
  }
  return {
    run(owner, work) {
      schedule() // also where the work begins at once: the time that it used counts in this turn alone
      if (waiting.size() === 0 && usedMs < SLICE_MS) return begin(work)
      waiting.push(owner, work)
    },
    accepted() {
      isAccepting = true
    },
  }
}
