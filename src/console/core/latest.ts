/** Work of which only the newest run matters, such as a search while a marker is dragged. */
export interface Latest {
  /** Asks for a run during a drag: at the next frame of the screen, or at the end of the current run. */
  live(): void
  /** Ends the current run and starts another one at once. */
  now(): void
  /** Ends the current run and forgets what was asked for. */
  stop(): void
}

/** Schedule of runs. */
export interface LatestClock {
  /** calls `act` before the next frame of the screen */
  frame(act: () => void): void
  nowMs(): number
}

/**
 * Longest time for which a live run may keep a newer one waiting, ms. A run that answers sooner is drawn:
 * ending it at each frame would show nothing on a connection slower than a frame, and an aborted HTTP/1.1
 * request costs its connection.
 */
const PATIENCE_MS = 1000

/**
 * Runs work again and again while its input changes. At most one run is active, and at most one waits.
 *
 * @param work receives the signal that ends it, and whether more changes are expected soon. Its errors are
 *   its own, except those of an aborted signal
 */
export function createLatest(
  work: (signal: AbortSignal, isLive: boolean) => Promise<void>,
  clock: LatestClock,
): Latest {
  let running: { controller: AbortController; sinceMs: number } | undefined
  let isAsked = false
  let isFrameSet = false

  const start = async (isLive: boolean) => {
    running?.controller.abort()
    isAsked = false
    const run = { controller: new AbortController(), sinceMs: clock.nowMs() }
    running = run
    try {
      await work(run.controller.signal, isLive)
    } catch (error) {
      if (!run.controller.signal.aborted) throw error
    } finally {
      if (running === run) {
        running = undefined
        // at once: the gateway answers while the screen draws the answer before
        if (isAsked) void start(true)
      }
    }
  }
  const setFrame = () => {
    if (isFrameSet) return
    isFrameSet = true
    clock.frame(() => {
      isFrameSet = false
      if (!isAsked) return
      // else the end of the run starts the next one
      if (running === undefined || clock.nowMs() - running.sinceMs > PATIENCE_MS) void start(true)
    })
  }
  return {
    live() {
      isAsked = true
      setFrame()
    },
    now: () => void start(false),
    stop() {
      isAsked = false
      running?.controller.abort()
      running = undefined
    },
  }
}
