import { parseCondition } from '../../routing/conditions/condition.js'
import { conditionOfClause, splitClauses, valueOfClause } from './notes.js'

/** Clause of a conditional tag whose condition is read. */
export interface Clause {
  readonly value: string
  /** as `parseCondition` reads it */
  readonly condition: string
  /** the clause as it is written */
  readonly text: string
}

/** Value of a conditional tag. */
export interface ConditionalValue {
  /** in their order: of those whose condition holds the last counts */
  readonly clauses: readonly Clause[]
  /** clauses as they are written that are not read */
  readonly unread: readonly string[]
}

/**
 * Parses the value of a conditional tag: `no @ (Mo-Fr 07:00-09:00); destination @ (Sa)`.
 *
 * @see https://wiki.openstreetmap.org/wiki/Conditional_restrictions
 */
export function parseConditionalValue(text: string): ConditionalValue {
  const clauses: Clause[] = []
  const unread: string[] = []
  for (const written of splitClauses(text)) {
    const condition = conditionOfClause(written)
    const isRead = condition !== undefined && parseCondition(condition) !== undefined
    if (isRead) clauses.push({ value: valueOfClause(written), condition, text: written })
    else unread.push(written)
  }
  return { clauses, unread }
}

/** Returns the value of the last clause whose condition holds; undefined when none does. */
export function valueWhile(
  clauses: readonly Clause[],
  holds: (condition: string) => boolean,
): string | undefined {
  return clauses.findLast(({ condition }) => holds(condition))?.value
}
