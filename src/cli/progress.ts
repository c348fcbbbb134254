import type { TextOut } from './io.js'

/** Progress bar of a terminal. In files and pipes nothing is drawn. */
export interface Progress {
  /**
   * @param fraction 0 to 1
   * @param count things that are done, for their rate; absent where they are not counted
   */
  show(fraction: number, what: string, count?: number): void
  /** removes the bar */
  clear(): void
}

const BAR_CELLS = 24
const LINE_START = '\r'
const ERASE_LINE = '\u001b[K'
/** Time after which rate and time left are shown: before, they are guesses. s */
const GUESS_S = 3
/** Part that must be done before the time left is shown. */
const GUESS_FRACTION = 0.02

/**
 * Creates a progress bar; it appears with the first `show`.
 *
 * @param nowMs monotonic clock
 */
export function createProgress(out: TextOut, nowMs: () => number = () => performance.now()): Progress {
  let shown = ''
  let startMs: number | undefined
  if (out.isTTY !== true) return { show: () => undefined, clear: () => undefined }
  return {
    show(fraction, what, count) {
      startMs ??= nowMs()
      const bounded = Math.max(0, Math.min(1, fraction))
      const full = Math.round(bounded * BAR_CELLS)
      const percent = String(Math.floor(bounded * 100)).padStart(3)
      const parts = [what, ...paceOf(bounded, count, (nowMs() - startMs) / 1000)]
      const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${percent} % ${parts.join(', ')}`
      const line = bar.slice(0, (out.columns ?? 80) - 1) // a wrapped line cannot be overwritten
      if (line === shown) return
      shown = line
      out.write(`${LINE_START}${line}${ERASE_LINE}`)
    },
    clear() {
      if (shown !== '') out.write(`${LINE_START}${ERASE_LINE}`)
      shown = ''
    },
  }
}

/** Rate and time left, as far as they are known. */
function paceOf(fraction: number, count: number | undefined, seconds: number): string[] {
  if (seconds < GUESS_S) return []
  const rate = count === undefined ? [] : [`${Math.round(count / seconds)}/s`]
  if (fraction < GUESS_FRACTION || fraction >= 1) return rate
  return [...rate, `${durationText((seconds / fraction) * (1 - fraction))} left`]
}

/** A duration in one or two units, rounded up. */
function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}
