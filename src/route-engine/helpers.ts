import type { Worker } from 'node:worker_threads'
import type { Found } from '../risk/found-pieces.js'
import type { LayHelpers, LayRun } from '../risk/shared-lay.js'
import type { Helpers, SharedRun } from '../routing/cch/shared-customise.js'

/** Triangles of a run that is worth the start of threads: some 50 ms of one, where a thread starts in 30. */
const MIN_TRIANGLES = 5_000_000
/** Cells that are worth it, some 50 ms of one thread. */
const MIN_CELLS = 10_000
/** Time without a completed piece after which the threads are given up, ms. A piece of a country takes some 20. */
const SILENCE_MS = 5000
/** Time without a run after which threads end, ms: each takes 10 MB. */
const IDLE_MS = 10_000
/**
 * Works of a thread at most: one that it does, and one that waits. Each keeps the memory of its profile, and callers
 * who hang up leave works behind.
 */
const MOST_ASKED = 2

/** Work of a thread: its answer is undefined, or what it has found. */
export type HelpWork = { readonly customise: SharedRun } | { readonly lay: LayRun }

interface HelperOptions {
  /** threads beside the one that asks */
  readonly threads: number
  /** starts a thread, which answers each work with a message */
  spawn(): Pick<Worker, 'on' | 'postMessage' | 'terminate' | 'unref'>
  /** receives the error of a thread; its work is done without it */
  onFault(error: unknown): void
  readonly minTriangles?: number
  readonly minCells?: number
  readonly idleMs?: number
}

/** Work that a thread has not answered. */
interface Asked {
  onAnswer(answer: unknown): void
  onLost(): void
}

/** Threads that help the search thread, with each kind of its work. */
export interface HelperThreads {
  readonly customising: Helpers
  readonly laying: LayHelpers
}

/** Creates threads that are started by the first large work, and end when there is none for a while. */
export function createHelpers({ threads, spawn, onFault, ...options }: HelperOptions): HelperThreads {
  const { minTriangles = MIN_TRIANGLES, minCells = MIN_CELLS, idleMs = IDLE_MS } = options
  const running = new Map<ReturnType<typeof spawn>, Asked[]>()
  let timer: NodeJS.Timeout | undefined

  const endIdle = () => {
    if ([...running.values()].some((asked) => asked.length > 0)) return
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
      for (const { onLost } of lost) onLost()
    })
    thread.on('message', (answer) => {
      running.get(thread)?.shift()?.onAnswer(answer)
      timer?.refresh()
    })
  }
  const askAll = (workFor: (place: number) => HelpWork, askedOf: (place: number) => Asked) => {
    while (running.size < threads) start()
    const free = [...running].filter(([, asked]) => asked.length < MOST_ASKED)
    for (const [place, [thread, asked]] of free.entries()) {
      // a work that cannot be sent is not waited for
      thread.postMessage(workFor(place))
      asked.push(askedOf(place))
    }
    if (timer === undefined) timer = setInterval(endIdle, idleMs).unref()
    else timer.refresh()
  }
  const isFree = () =>
    running.size < threads || [...running.values()].some((asked) => asked.length < MOST_ASKED)
  return {
    customising: {
      minTriangles,
      isFree,
      silenceMs: SILENCE_MS,
      offer: (customise, onLost) =>
        askAll(
          () => ({ customise }),
          () => ({ onAnswer: () => undefined, onLost }),
        ),
    },
    laying: {
      minCells,
      isFree,
      threads,
      silenceMs: SILENCE_MS,
      offer: (runFor, onAnswer) =>
        askAll(
          (place) => ({ lay: runFor(place) }),
          (place) => ({
            onAnswer: (found) => onAnswer(place, found as Found | undefined),
            onLost: () => onAnswer(place, undefined),
          }),
        ),
    },
  }
}
