import type { TextOut } from './io.js'

/** Progress bar of a terminal. In files and pipes nothing is drawn. */
export interface Progress {
  /**
   * @param fraction 0 to 1; undefined where the end is not known, which draws no bar
   * @param count things that are done, for their rate; absent where they are not counted
   */
  show(fraction: number | undefined, what: string, count?: number): void
  /** removes the bar */
  clear(): void
}

const BAR_CELLS = 24
const LINE_START = '\r'
/** Time after which rate and time left are shown: before, they are guesses. s */
const GUESS_S = 3
/** Part that must be done before the time left is shown. */
const GUESS_FRACTION = 0.02

/**
 * Creates a progress bar; it appears with the first `show`. A line is taken back by blanks: a terminal with
 * `TERM=dumb` knows no other way.
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
      const text = lineOf(fraction, what, count, (nowMs() - startMs) / 1000)
      const line = text.slice(0, (out.columns ?? 80) - 1) // a wrapped line cannot be overwritten
      if (line === shown) return
      out.write(`${LINE_START}${line.padEnd(shown.length)}`)
      shown = line
    },
    clear() {
      if (shown !== '') out.write(`${LINE_START}${' '.repeat(shown.length)}${LINE_START}`)
      shown = ''
    },
  }
}

/** Bar with what is done, the rate and the time left. */
function lineOf(
  fraction: number | undefined,
  what: string,
  count: number | undefined,
  seconds: number,
): string {
  if (fraction === undefined) return `... ${[what, ...paceOf(0, count, seconds)].join(', ')}`
  const bounded = Math.max(0, Math.min(1, fraction))
  const full = Math.round(bounded * BAR_CELLS)
  const percent = String(Math.floor(bounded * 100)).padStart(3)
  const parts = [what, ...paceOf(bounded, count, seconds)]
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${percent} % ${parts.join(', ')}`
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
