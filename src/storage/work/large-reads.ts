import { AppError } from '../../errors.js'

/** Turns of reads that hold large rows, so that the memory of all of them together is bounded. */
export interface LargeReads {
  /**
   * Waits for a turn. Reads are served in the order in which they came.
   *
   * @param bytes more than there is in all counts as all
   * @returns a function that ends the turn; a second call does nothing
   * @throws AppError CANCELLED when the signal fires; BUSY after the longest wait
   */
  take(bytes: number, signal: AbortSignal | undefined): Promise<() => void>
}

interface Waiter {
  readonly bytes: number
  grant(): void
}

/** Longest wait for a turn, ms: a caller that reads slowly keeps its row in memory. */
const WAIT_MS = 10_000

/** Creates the turns of one thread. @param totalBytes bytes of the stored values of all rows that are held */
export function createLargeReads(totalBytes: number, waitMs = WAIT_MS): LargeReads {
  const queue: Waiter[] = []
  let used = 0
  const serve = () => {
    for (let [first] = queue; first !== undefined && used + first.bytes <= totalBytes; [first] = queue) {
      queue.shift()
      first.grant()
    }
  }
  const hold = (bytes: number) => {
    used += bytes
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      used -= bytes
      serve()
    }
  }
  return {
    async take(asked, signal) {
      const bytes = Math.min(asked, totalBytes)
      if (signal?.aborted === true) throw new AppError('CANCELLED')
      if (queue.length === 0 && used + bytes <= totalBytes) return hold(bytes)
      return await new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onAbort)
        }
        const waiter: Waiter = {
          bytes,
          grant() {
            end()
            resolve(hold(bytes))
          },
        }
        const giveUp = (error: AppError) => {
          queue.splice(queue.indexOf(waiter), 1)
          end()
          reject(error)
          serve() // a smaller one behind it may fit
        }
        const onAbort = () => giveUp(new AppError('CANCELLED'))
        const timer = setTimeout(() => giveUp(tooLong(waitMs)), waitMs)
        signal?.addEventListener('abort', onAbort, { once: true })
        queue.push(waiter)
      })
    },
  }
}

function tooLong(waitMs: number): AppError {
  const message = `Other answers with large values were not read within ${waitMs} ms; try again`
  return new AppError('BUSY', { retryAfterS: 2 }, { message })
}
