import type { Worker } from 'node:worker_threads'
import type { Helpers, SharedRun } from '../routing/cch/shared-customise.js'

/** Triangles of a run that is worth the start of threads: some 50 ms of one, where a thread starts in 30. */
const MIN_TRIANGLES = 5_000_000
/** Time without a completed piece after which the threads are given up, ms. A piece of a country takes some 20. */
const SILENCE_MS = 5000
/** Time without a run after which threads end, ms: each takes 10 MB. */
const IDLE_MS = 10_000

interface HelperOptions {
  /** threads beside the one that asks */
  readonly threads: number
  /** starts a thread, which answers each run with any message when no piece of it is left */
  spawn(): Pick<Worker, 'on' | 'postMessage' | 'terminate' | 'unref'>
  /** receives the error of a thread; the run goes on without it */
  onFault(error: unknown): void
  readonly minTriangles?: number
  readonly idleMs?: number
}

/** Threads that help with customisations: started by the first large one, ended when there is none for a while. */
export function createHelpers({ threads, spawn, onFault, ...options }: HelperOptions): Helpers {
  const { minTriangles = MIN_TRIANGLES, idleMs = IDLE_MS } = options
  /** thread → its runs that are not over, with what is to be called when it is lost */
  const running = new Map<ReturnType<typeof spawn>, (() => void)[]>()
  let timer: NodeJS.Timeout | undefined

  const endIdle = () => {
    if ([...running.values()].some((runs) => runs.length > 0)) return
    clearInterval(timer)
    timer = undefined
    const idle = [...running.keys()]
    running.clear()
    for (const thread of idle) void thread.terminate()
  }
  const start = () => {
    const thread = spawn()
    thread.unref() // it alone keeps no process alive
    running.set(thread, [])
    thread.on('error', onFault)
    thread.on('exit', () => {
      const lost = running.get(thread) ?? []
      running.delete(thread)
      for (const onLost of lost) onLost()
    })
    thread.on('message', () => {
      running.get(thread)?.shift()
      timer?.refresh()
    })
  }
  return {
    minTriangles,
    silenceMs: SILENCE_MS,
    offer(run: SharedRun, onLost) {
      while (running.size < threads) start()
      for (const [thread, runs] of running) {
        runs.push(onLost)
        thread.postMessage(run)
      }
      if (timer === undefined) timer = setInterval(endIdle, idleMs).unref()
      else timer.refresh()
    },
  }
}
