/** A half-open span of time in which nothing changes, µs UTC. */
export interface Slot {
  /** undefined = always before */
  readonly fromUs: bigint | undefined
  /** undefined = for ever after */
  readonly untilUs: bigint | undefined
}

/**
 * The slot that an instant falls into.
 *
 * @param changes instants at which something begins or ends, ascending
 */
export function slotAt(changes: readonly bigint[], instantUs: bigint): Slot {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (changes[middle]! <= instantUs) low = middle + 1
    else high = middle
  }
  return { fromUs: changes[low - 1], untilUs: changes[low] }
}

/**
 * The instants, from a departure on, that begin a new slot for any of several series of changes.
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
