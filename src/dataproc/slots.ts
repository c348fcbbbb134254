import { AppError } from '../errors.js'

/** Semaphore: a fixed number of holders at a time, the others wait in order. */
export interface Slots {
  /** Takes a slot. @returns function that releases it. @throws AppError BUSY when too many wait, CANCELLED */
  take(signal: AbortSignal): Promise<() => void>
  waiting(): number
}

/** Creates a semaphore. @param maxWaiting callers that may wait; the next one gets BUSY */
export function createSlots(count: number, maxWaiting: number): Slots {
  let free = count
  const queue = new Set<() => void>()
  const giveBack = () => {
    const [next] = queue
    if (next === undefined) free++
    else {
      queue.delete(next)
      next()
    }
  }
  const once = () => {
    let isBack = false
    return () => {
      if (!isBack) giveBack()
      isBack = true
    }
  }
  return {
    async take(signal) {
      if (signal.aborted) throw new AppError('CANCELLED')
      if (free > 0) {
        free--
        return once()
      }
      if (queue.size >= maxWaiting) {
        const message = `${count} modules run and ${queue.size} wait, the limits of both`
        throw new AppError(
          'BUSY',
          { maxConcurrent: count, maxQueue: maxWaiting, retryAfterS: 5 },
          { message },
        )
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          queue.delete(enter)
          reject(new AppError('CANCELLED'))
        }
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        signal.addEventListener('abort', leave, { once: true })
        queue.add(enter)
      })
      return once()
    },
    waiting: () => queue.size,
  }
}
