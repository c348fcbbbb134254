import { AppError } from '../../errors.js'
import type { Condition, Term } from './condition.js'
import { likeSteps } from './like-pattern.js'

/** Comparisons that a condition may need, a few nanoseconds each: a reader thread does them in its time limit. */
const MAX_STEPS = 1_000_000_000
/** Comparisons for each byte of a value below which the rows need not be looked at. */
const CHEAP_STEPS = 64
/** Comparisons for each byte of a geometry that one test against an area takes, about. */
const AREA_STEPS = 4

/** Rows that a condition is tested on, about. */
export interface RowFacts {
  readonly rows: number
  /** Returns the mean length of a column's values, bytes. */
  meanBytes(column: string): number
}

/**
 * Refuses a condition that would take longer than a read may: terms × pattern × text, and areas × geometry.
 *
 * @param facts called for costly conditions only
 * @throws AppError TOO_EXPENSIVE, `data` = `{ path, found, limit }`
 */
export function checkCost(condition: Condition, path: string, facts: () => RowFacts): void {
  const steps = costlySteps(condition)
  if (steps !== undefined) checkSteps(steps, facts(), path)
}

/** Comparisons for each byte of a column's values, by column. */
export type Steps = ReadonlyMap<string, number>

/** Returns the comparisons of a costly condition; undefined for one whose rows need not be looked at. */
export function costlySteps(condition: Condition): Steps | undefined {
  const steps = stepsByColumn(condition, new Map())
  return [...steps.values()].some((each) => each > CHEAP_STEPS) ? steps : undefined
}

/** Refuses a condition as `checkCost` does. @throws AppError TOO_EXPENSIVE */
export function checkSteps(steps: Steps, { rows, meanBytes }: RowFacts, path: string): void {
  let found = 0
  for (const [column, each] of steps) found += Math.ceil(rows * meanBytes(column) * each)
  if (found <= MAX_STEPS) return
  const message = `Too expensive at ${path}: found about ${found} comparisons of characters and positions, expected at most ${MAX_STEPS}; shorten stretches with _ between two %, name fewer areas, or name a key or a smaller area`
  throw new AppError('TOO_EXPENSIVE', { path, found, limit: MAX_STEPS }, { message })
}

/** Adds the comparisons for each byte of a column's values. */
function stepsByColumn(condition: Condition, steps: Map<string, number>): Map<string, number> {
  if ('parts' in condition) for (const part of condition.parts) stepsByColumn(part, steps)
  else if (condition.kind === 'not') stepsByColumn(condition.part, steps)
  else {
    const each = stepsOf(condition)
    const { name } = condition.column
    if (each > 0) steps.set(name, (steps.get(name) ?? 0) + each)
  }
  return steps
}

function stepsOf(term: Term): number {
  if (term.kind === 'like') return likeSteps(term.pattern)
  return term.kind === 'intersects' || term.kind === 'within' ? AREA_STEPS : 0
}
