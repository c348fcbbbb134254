import type { CliDeps, CliIo } from './io.js'
import { createProgress, type Progress } from './progress.js'

/** Parts of a verb that may run for minutes. */
export interface LongWork {
  readonly progress: Progress
  /** fires at SIGINT */
  readonly signal: AbortSignal
}

/**
 * Runs the work of a verb that may take minutes, with a progress bar, which is removed at the end. SIGINT ends
 * the work through its signal.
 *
 * @param stopped message of the verb when SIGINT has ended it; absent where the work makes its own
 * @throws what the work throws, or an error of that message
 */
export async function withProgress<T>(
  io: CliIo,
  deps: Pick<CliDeps, 'onSignal'>,
  work: (parts: LongWork) => Promise<T>,
  stopped?: string,
): Promise<T> {
  const progress = createProgress(io.stderr)
  const stop = new AbortController()
  const stopListening = deps.onSignal('SIGINT', () => stop.abort())
  try {
    return await work({ progress, signal: stop.signal })
  } catch (error) {
    throw stop.signal.aborted && stopped !== undefined ? new Error(stopped, { cause: error }) : error
  } finally {
    progress.clear()
    stopListening()
  }
}
