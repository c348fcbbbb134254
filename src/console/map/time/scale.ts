import { mapState } from '../state.js'
import type { Span } from './ends.js'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Five minutes per step on a range of 24 h. */
const STEPS = 288
const LONG_STEPS = 1000

/** Time range of the line: that of the data or the one that was chosen, else a day around the time. */
export function spanNow(): Span {
  return mapState.spanMs ?? [mapState.atMs - DAY_MS / 2, mapState.atMs + DAY_MS / 2]
}

/** Steps of the sliders. */
export function stepsNow(): number {
  const [from, to] = spanNow()
  return to - from > 7 * DAY_MS ? LONG_STEPS : STEPS
}

/** Step of a time, within the range. */
export function stepOf(ms: number): number {
  const [from, to] = spanNow()
  const step = Math.round(((ms - from) / (to - from)) * stepsNow())
  return Math.min(stepsNow(), Math.max(0, step))
}

export function timeOf(step: number): number {
  const [from, to] = spanNow()
  return Math.round(from + ((to - from) * step) / stepsNow())
}
