/** Decision by conditions: one outcome for each combination of those that hold, see `DecisionTable`. */
export interface Decision {
  /** the first is bit 0 of the position in `out` */
  readonly when: readonly string[]
  readonly out: readonly number[]
}

/**
 * Evaluates an outcome for each combination of some conditions.
 *
 * @param when at most `MAX_WHEN`
 */
export function decide(
  when: readonly string[],
  outcomeWhile: (holds: (condition: string) => boolean) => number,
): Decision {
  const out = Array.from({ length: 2 ** when.length }, (_, position) =>
    outcomeWhile((condition) => ((position >> when.indexOf(condition)) & 1) === 1),
  )
  return simplified({ when, out })
}

/** Returns a decision without the conditions that make no difference. */
function simplified({ when, out }: Decision): Decision {
  const idle = when.findIndex((_, bit) => out.every((value, at) => value === out[at ^ (1 << bit)]))
  if (idle < 0) return { when, out }
  return simplified({
    when: when.filter((_, bit) => bit !== idle),
    out: out.filter((_, at) => ((at >> idle) & 1) === 0),
  })
}

/** Returns the outcome when no condition holds. */
export function usualOutcome({ out }: Decision): number {
  return out[0]!
}

/** Combines decisions to one. @returns undefined when they have too many conditions together */
export function combine(
  decisions: readonly Decision[],
  maxWhen: number,
  join: (outcomes: number[]) => number,
): Decision | undefined {
  const when = [...new Set(decisions.flatMap((decision) => decision.when))]
  if (when.length > maxWhen) return undefined
  return decide(when, (holds) => join(decisions.map((decision) => outcomeWhile(decision, holds))))
}

/** Returns the outcome of a decision. */
export function outcomeWhile({ when, out }: Decision, holds: (condition: string) => boolean): number {
  return out[when.reduce((position, condition, bit) => position | (holds(condition) ? 1 << bit : 0), 0)]!
}
