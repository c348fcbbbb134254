/** Time for work that is not repeated too often. */
export interface SeldomClock {
  nowMs(): number
  /** calls `act` after a time, ms. @returns a function that forgets it */
  later(ms: number, act: () => void): () => void
}

/**
 * Work that is run at most once in a time: figures that change with each frame cannot be read, and the browser
 * draws all that lies between two places that change.
 *
 * @param ms shortest time between two runs of `soon`
 */
export function createSeldom(ms: number, act: () => void, clock: SeldomClock) {
  let lastMs = Number.NEGATIVE_INFINITY
  let forget: (() => void) | undefined
  const now = () => {
    forget?.()
    forget = undefined
    lastMs = clock.nowMs()
    act()
  }
  return {
    /** Runs it at once, and what waits with it. */
    now,
    /** Runs it at once, or as soon as the time has passed. */
    soon() {
      if (forget !== undefined) return
      const waitMs = lastMs + ms - clock.nowMs()
      if (waitMs <= 0) now()
      else forget = clock.later(waitMs, now)
    },
  }
}

/** Time between two views of the figures of a drag, ms. */
export const FIGURES_MS = 150

/** Runs work by the clock of the page, see `createSeldom`. */
export function seldom(ms: number, act: () => void): ReturnType<typeof createSeldom> {
  return createSeldom(ms, act, {
    nowMs: () => performance.now(),
    later(waitMs, run) {
      const timer = setTimeout(run, waitMs)
      return () => clearTimeout(timer)
    },
  })
}
