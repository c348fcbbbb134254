import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log.js'
import type { Leases } from '../../storage/postgres/leases/lease.js'

/** Work that one process of a hub does at a time. */
export interface LeaderTask {
  readonly name: string
  /** time between two runs, over all processes, ms */
  readonly everyMs: number
  run(): Promise<unknown>
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
 * then, and take it over once its lease has ended. What a run writes after that is refused.
 */
export function startLeaderTasks({ leases, log, tasks, wait = waitFor }: LeaderDeps): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const lead = async ({ name, everyMs, run }: LeaderTask) => {
    const term = await leases.begin(name)
    if (term === undefined) return
    try {
      let isOver = false
      for (let leftMs = 0; !signal.aborted && !isOver; leftMs -= RENEW_MS) {
        if (leftMs <= 0) {
          await term.run(run)
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
        log.warn({ err: error, task: task.name }, 'a task of the hub failed')
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
