import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log.js'
import type { Leases, Term } from '../../storage/postgres/leases/lease.js'

/** Work that one process of a hub does at a time. */
export interface LeaderTask {
  readonly name: string
  /** time between two runs, over all processes, ms */
  readonly everyMs: number
  /** @param signal fires when the process ends, or has lost the task */
  run(signal: AbortSignal): Promise<unknown>
}

interface LeaderDeps {
  readonly leases: Leases
  readonly log: Pick<Log, 'warn'>
  readonly tasks: readonly LeaderTask[]
  /** waits, or less if the signal fires */
  wait?(ms: number, signal: AbortSignal): Promise<void>
}

/** Time between two renewals of a lease, ms. */
const RENEW_MS = 15_000
/** Share of the time between two runs after which a process looks whether it is its turn. */
const LOOK_SHARE = 0.25

/**
 * Runs tasks under leases of the database. A process that has a task keeps it while it lives: the others look now and
 * then, and take it over once its lease has ended. What a run writes after that is refused. The lease is renewed during
 * a run, too, so a run may take longer than a lease.
 */
export function startLeaderTasks({ leases, log, tasks, wait = waitFor }: LeaderDeps): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const runOnce = async (term: Term, run: LeaderTask['run']) => {
    const lost = new AbortController()
    const done = new AbortController()
    const renewing = (async () => {
      while (!done.signal.aborted) {
        await wait(RENEW_MS, done.signal)
        // a renewal that fails is repeated; if the lease ends meanwhile, the writes of the run are refused
        if (!done.signal.aborted && !(await term.renew().catch(() => true))) return lost.abort()
      }
    })()
    try {
      await term.run(() => run(AbortSignal.any([signal, lost.signal])))
    } finally {
      done.abort()
      await renewing
    }
  }
  const lead = async ({ name, everyMs, run }: LeaderTask) => {
    const term = await leases.begin(name)
    if (term === undefined) return
    try {
      let isOver = false
      for (let leftMs = 0; !signal.aborted && !isOver; leftMs -= RENEW_MS) {
        if (leftMs <= 0) {
          await runOnce(term, run)
          leftMs = everyMs
        }
        await wait(Math.min(RENEW_MS, leftMs), signal)
        isOver = !(await term.renew())
      }
    } finally {
      await term.end()
    }
  }
  const loop = async (task: LeaderTask) => {
    while (!signal.aborted) {
      try {
        await lead(task)
      } catch (error) {
        // a task that is ended in its middle has not failed
        if (!signal.aborted) log.warn({ err: error, task: task.name }, 'a task of the hub failed')
      }
      await wait(task.everyMs * LOOK_SHARE, signal)
    }
  }
  const running = tasks.map(loop)
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  // an abort ends the wait, and is no fault
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
}
