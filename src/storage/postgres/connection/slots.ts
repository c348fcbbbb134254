import { faultOf, NO_CONNECTION } from './faults.js'

/** A number of places, taken in the order of asking. */
export interface Slots {
  /** @throws Error NO_CONNECTION when none is free within the limit */
  take(): Promise<void>
  give(): void
}

/** Creates slots. @param limitMs longest wait for one */
export function createSlots(count: number, limitMs: number): Slots {
  let free = count
  const waiting = new Set<() => void>()
  return {
    take() {
      if (free > 0) {
        free--
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(next)
          reject(faultOf(NO_CONNECTION, `none of ${count} connections became free within ${limitMs} ms`))
        }, limitMs)
        const next = () => {
          clearTimeout(timer)
          resolve()
        }
        waiting.add(next)
      })
    },
    give() {
      const [next] = waiting
      if (next === undefined) {
        free++
        return
      }
      waiting.delete(next)
      next()
    },
  }
}
