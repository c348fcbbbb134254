import { AppError } from '../../errors.js'
import type { Condition } from './condition.js'
import { likeSteps } from './like-pattern.js'

/** Comparisons that a condition may need, a few nanoseconds each: a reader thread does them in its time limit. */
const MAX_STEPS = 1_000_000_000
/** Comparisons for each character of a text below which the rows need not be looked at. */
const CHEAP_STEPS = 64

/** Rows of a table, about. */
export interface RowFacts {
  readonly rows: number
  /** Returns the mean length of a column's texts, characters. */
  meanChars(column: string): number
}

/**
 * Refuses a condition whose comparisons of texts would take longer than a read may: terms × pattern × text.
 *
 * @param facts called for costly patterns only
 * @throws AppError TOO_EXPENSIVE, `data` = `{ path, found, limit }`
 */
export function checkCost(condition: Condition, path: string, facts: () => RowFacts): void {
  const steps = stepsByColumn(condition, new Map())
  if (![...steps.values()].some((each) => each > CHEAP_STEPS)) return
  const { rows, meanChars } = facts()
  let found = 0
  for (const [column, each] of steps) found += Math.ceil(rows * meanChars(column) * each)
  if (found <= MAX_STEPS) return
  const message = `Too expensive at ${path}: found about ${found} comparisons of characters, expected at most ${MAX_STEPS}; shorten stretches with _ between two %, or name a key or an area`
  throw new AppError('TOO_EXPENSIVE', { path, found, limit: MAX_STEPS }, { message })
}

/** Adds the comparisons for each character of a column's text. */
function stepsByColumn(condition: Condition, steps: Map<string, number>): Map<string, number> {
  if ('parts' in condition) for (const part of condition.parts) stepsByColumn(part, steps)
  else if (condition.kind === 'not') stepsByColumn(condition.part, steps)
  else if (condition.kind === 'like') {
    const { name } = condition.column
    steps.set(name, (steps.get(name) ?? 0) + likeSteps(condition.pattern))
  }
  return steps
}
