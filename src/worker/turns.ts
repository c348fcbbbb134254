/** Turns of the jobs of one thread. One job runs at a time, until it waits for its next turn. */
export interface Turns {
  /** Returns what a job calls to wait for its next turn. @param owner who asked for the job */
  enter(owner: string): () => Promise<void>
}

/** Jobs of one owner that wait for a turn. */
interface Owner {
  /** time that the owner has used, in the time of `served`, ms */
  usedMs: number
  /** in the order in which they began to wait */
  readonly waiting: (() => void)[]
}

/**
 * Creates turns that are shared between owners, whatever the number of jobs that each of them has: the next
 * turn is the owner's that has used the least time. An owner without jobs saves up no time. A job that finds the
 * thread idle begins at once; otherwise the event loop turns between two jobs, so that messages arrive. Cost of a
 * turn: the number of owners.
 *
 * @param nowMs clock
 * @see P. Goyal, H. M. Vin, H. Cheng, "Start-time fair queueing: a scheduling algorithm for integrated
 *   services packet switching networks", ACM SIGCOMM 1996
 */
export function createTurns(nowMs: () => number = () => performance.now()): Turns {
  const owners = new Map<string, Owner>()
  /** time that the owner served last had used: who comes now begins there */
  let servedMs = 0
  let running: { readonly owner: Owner; readonly sinceMs: number } | undefined
  /** a turn is under way, or jobs wait */
  let isScheduled = false

  const grant = () => {
    isScheduled = false
    if (running !== undefined) running.owner.usedMs += nowMs() - running.sinceMs
    running = undefined
    const next = leastUsed(owners)
    if (next === undefined) return
    servedMs = next.usedMs
    running = { owner: next, sinceMs: nowMs() }
    next.waiting.shift()?.()
    setImmediate(grant) // notes when the turn is over
    isScheduled = true
  }
  return {
    enter: (name) => () =>
      new Promise((resolve) => {
        const owner = owners.get(name) ?? { usedMs: servedMs, waiting: [] }
        owners.set(name, owner)
        if (owner.waiting.length === 0) owner.usedMs = Math.max(owner.usedMs, servedMs)
        owner.waiting.push(resolve)
        if (!isScheduled) grant()
      }),
  }
}

/** Returns the waiting owner that has used the least time. Removes idle owners that have used no more. */
function leastUsed(owners: Map<string, Owner>): Owner | undefined {
  let least: Owner | undefined
  for (const owner of owners.values())
    if (owner.waiting.length > 0 && (least === undefined || owner.usedMs < least.usedMs)) least = owner
  for (const [name, owner] of owners)
    if (owner.waiting.length === 0 && (least === undefined || owner.usedMs <= least.usedMs))
      owners.delete(name)
  return least
}
