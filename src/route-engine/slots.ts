/** A half-open span of time in which nothing changes, µs UTC. */
export interface Slot {
  /** undefined = no beginning */
  readonly fromUs: bigint | undefined
  /** undefined = no end */
  readonly untilUs: bigint | undefined
}

/**
 * Finds the slot that contains an instant.
 *
 * @param changes instants at which something begins or ends, ascending
 */
export function slotAt(changes: readonly bigint[], instantUs: bigint): Slot {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const change = changes[middle]
    if (change !== undefined && change <= instantUs) low = middle + 1
    else high = middle
  }
  return { fromUs: changes[low - 1], untilUs: changes[low] }
}

/**
 * Lists the instants, from a departure on, at which a slot begins in any of several series of changes.
 *
 * @returns ascending, the departure first, at most `limit`
 */
export function slotStarts(
  series: readonly (readonly bigint[])[],
  departUs: bigint,
  limit: number,
): bigint[] {
  const later = new Set<bigint>()
  for (const changes of series) for (const change of changes) if (change > departUs) later.add(change)
  const sorted = [...later].sort((a, b) => (a < b ? -1 : 1))
  return [departUs, ...sorted].slice(0, limit)
}
