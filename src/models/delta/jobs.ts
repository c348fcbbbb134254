import { randomUUID } from 'node:crypto'
import type { WorkerClient } from '../../worker/client.js'
import { throwIfCancelled, type WorkHandler } from '../../worker/host.js'
import { type ApplyFiles, applyDeltaFile, type MakeFiles, makeDeltaFile } from './delta-files.js'

/** Deltas of model files, made and applied by another thread. */
export interface DeltaWork {
  /** Makes a delta file. @returns its size, bytes. @throws Error, AppError CANCELLED; nothing is left then */
  make(files: MakeFiles, signal?: AbortSignal): Promise<number>
  /** Applies a delta file. @returns size of the result, bytes. @throws AppError BAD_DELTA, CANCELLED */
  apply(files: ApplyFiles, signal?: AbortSignal): Promise<number>
}

/** Longest step: other jobs of the thread wait at most this long behind a delta, and one block. */
const STEP_MS = 100

type Kind = 'make' | 'apply'

interface StepPayload {
  /** names the work over its steps */
  readonly id: string
  readonly kind: Kind
  readonly files: MakeFiles | ApplyFiles
}

/** Work between two steps. */
interface Running {
  readonly steps: AsyncGenerator<number>
  /** bytes written so far */
  bytes: number
}

/** Result of a step: bytes written so far, and whether that is all. */
interface StepResult {
  readonly bytes: number
  readonly isDone: boolean
}

/**
 * Returns the handlers of the job thread. A delta is worked on step by step, so that other jobs run in
 * between.
 *
 * @param stepMs length of a step; 0 for one block
 */
export function deltaJobs(stepMs = STEP_MS): Record<string, WorkHandler> {
  const running = new Map<string, Running>()
  return {
    'modelDelta.step': async ({ id, kind, files }: StepPayload, work): Promise<StepResult> => {
      const current = running.get(id) ?? { steps: begin(kind, files), bytes: 0 }
      running.set(id, current)
      try {
        const result = await step(current, stepMs, () => throwIfCancelled(work))
        if (result.isDone) running.delete(id)
        return result
      } catch (error) {
        running.delete(id)
        await current.steps.return(undefined)
        throw error
      }
    },
    'modelDelta.abandon': async ({ id }: { id: string }) => {
      await running.get(id)?.steps.return(undefined)
      running.delete(id)
    },
  }
}

/** Returns the client of these handlers, for the main thread. */
export function deltaWorkBy(jobs: Pick<WorkerClient, 'call'>): DeltaWork {
  const run = async (kind: Kind, files: MakeFiles | ApplyFiles, signal?: AbortSignal): Promise<number> => {
    const payload: StepPayload = { id: randomUUID(), kind, files }
    let isOver = false
    try {
      for (;;) {
        const options = signal === undefined ? {} : { signal }
        const { bytes, isDone } = await jobs.call<StepResult>('modelDelta.step', payload, options)
        isOver = isDone
        if (isDone) return bytes
      }
    } finally {
      if (!isOver) await jobs.call('modelDelta.abandon', { id: payload.id })
    }
  }
  return {
    make: (files, signal) => run('make', files, signal),
    apply: (files, signal) => run('apply', files, signal),
  }
}

function begin(kind: Kind, files: MakeFiles | ApplyFiles): AsyncGenerator<number> {
  // the client pairs the kind with its files
  return kind === 'make' ? makeDeltaFile(files as MakeFiles) : applyDeltaFile(files as ApplyFiles)
}

async function step(current: Running, stepMs: number, check: () => void): Promise<StepResult> {
  const endAt = performance.now() + stepMs
  do {
    check()
    const next = await current.steps.next()
    if (next.done === true) return { bytes: current.bytes, isDone: true }
    current.bytes = next.value
  } while (performance.now() < endAt)
  return { bytes: current.bytes, isDone: false }
}
