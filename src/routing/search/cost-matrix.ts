/**
 * Costs between the points of a request: 0 = start, 1 … n = via points, n + 1 = goal; row = from. Infinity =
 * no path.
 */
export interface CostMatrix {
  readonly viaCount: number
  /** row-major, `(viaCount + 2)²`, integral */
  readonly costMs: Float64Array
}

/** Order of visit of the via points. */
export interface Order {
  /** via points in the order of visit, counted from 0 */
  readonly via: readonly number[]
  /** Infinity when no order is possible; in a heuristic order, when none was found */
  readonly costMs: number
  readonly isOptimal: boolean
}

/**
 * Returns the cost of visiting the via points in a given order, milliseconds; Infinity where a leg has no
 * path.
 */
export function costOfOrder({ viaCount, costMs }: CostMatrix, via: readonly number[]): number {
  const size = viaCount + 2
  let row = 0
  let total = 0
  for (const point of via) {
    total += costMs[row * size + point + 1]!
    row = point + 1
  }
  return total + costMs[row * size + viaCount + 1]!
}
