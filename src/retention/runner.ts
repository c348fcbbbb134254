import { messageOf } from '../errors.js'
import type { PassState, RetentionStore } from '../storage/retention.js'
import { type DiskDeps, freeDisk } from './free-disk.js'
import { createStepSize, type Pace } from './pass.js'
import { createRounds, pauseAfter, type RoundDeps } from './rounds.js'

export interface RetentionDeps extends DiskDeps, Omit<RoundDeps, 'store' | 'pace'> {
  /** Notes the free space, when it is time. */
  sampleDisk(): Promise<void>
}

/** Removal of old rows in the background. */
export interface RetentionRunner {
  /** Begins a round at once. */
  wake(): void
  /** Returns the state of the last pass over a table; undefined before the first one. */
  stateOf(tableId: number): PassState | undefined
  /** Rows removed since the start of the program. */
  removedRows(): number
  /** True while the disk is below the mark and the tables that give rows have none left. */
  isShort(): boolean
  stop(): Promise<void>
}

/** Time between two rounds, ms: rules hold within a minute. */
const ROUND_MS = 30_000
const PACE: Pace = { stepMs: 4, maxRows: 1024, share: 0.1 }
/** The same where the disk is below the mark. */
const SHORT: Pace = { ...PACE, share: 0.5 }
/** Share of a file without rows from which on it gives pages back, and what it keeps of them. */
const GIVES_BACK = 0.25
const KEEPS = 0.1
/** Least time between two sweeps of files, ms. */
const SWEEP_MS = 600_000
/** Pages without rows that are not worth giving back: 4 MiB. */
const LEAST_PAGES = 1024

/** Starts the removal of old rows. */
export function startRetention(deps: RetentionDeps): RetentionRunner {
  const stopping = new AbortController()
  const { signal } = stopping
  const rounds = createRounds({ ...deps, pace: PACE })
  const size = createStepSize(SHORT)
  const counts = { removed: 0, isShort: false, filesLeft: false, fault: '' }
  let wake: () => void = () => undefined
  const rest = (pace: Pace) => (tookMs: number) => deps.pause(pauseAfter(tookMs, pace), signal)

  let sweptAtMs = Number.NEGATIVE_INFINITY
  /** Reads the digests of all rows: not too often. @returns false when it is too early */
  const sweep = async () => {
    if (performance.now() - sweptAtMs < SWEEP_MS) return false
    sweptAtMs = performance.now()
    await deps.sweepFiles()
    return true
  }
  const round = async () => {
    await deps.sampleDisk()
    const { removed, hasFiles } = await rounds.run(signal)
    counts.removed += removed
    const freed = await freeDisk(deps, size, rest(SHORT))
    counts.removed += freed.removed
    noteShort(deps, counts, freed.isShort)
    await giveBack(deps.store, rest(PACE))
    if (hasFiles || counts.filesLeft) counts.filesLeft = !(await sweep())
  }
  const run = async () => {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      try {
        await round()
        counts.fault = ''
      } catch (error) {
        if (signal.aborted) return
        const fault = messageOf(error)
        if (fault !== counts.fault) deps.log.error({ err: error }, 'old rows could not be removed')
        counts.fault = fault
      }
      await Promise.race([deps.pause(ROUND_MS, signal), woken]).catch(() => undefined) // it fails when it is stopped
    }
  }
  const running = run()
  return {
    wake: () => wake(),
    stateOf: rounds.stateOf,
    removedRows: () => counts.removed,
    isShort: () => counts.isShort,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

function noteShort({ log }: RetentionDeps, counts: { isShort: boolean }, isShort: boolean): void {
  if (isShort && !counts.isShort)
    log.warn(
      'the disk is below retention.minFreeBytes, and no table of retention.giveFirst has rows that may go',
    )
  counts.isShort = isShort
}

/** Gives pages without rows back to the file system, where they are many. */
async function giveBack(store: RetentionStore, rest: (tookMs: number) => Promise<void>): Promise<void> {
  const { pages, freePages } = await store.space()
  if (freePages < LEAST_PAGES || freePages < pages * GIVES_BACK) return
  const keep = Math.floor(pages * KEEPS)
  for (;;) {
    const startMs = performance.now()
    if ((await store.shrink(keep)) === 0) return
    await rest(performance.now() - startMs)
  }
}
