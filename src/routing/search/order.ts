import type { CostMatrix, Order } from './cost-matrix.js'
import { improveOrder } from './order-heuristic.js'

/**
 * Most via points of an exact order: 2^12 sets of 12 last points are 49,152 states, 2 ms; one more doubles
 * both.
 */
export const MAX_EXACT_VIA = 12

/** Finds the cheapest order of the via points: exact up to `MAX_EXACT_VIA`, by local search beyond. */
export function orderVia(matrix: CostMatrix): Order {
  if (matrix.viaCount <= MAX_EXACT_VIA) return exactOrder(matrix)
  return improveOrder(matrix)
}

/**
 * Finds the cheapest of all permutations; of equal ones the first in lexicographic order. O(n² 2ⁿ) time.
 *
 * `rest[set, last]` is the cheapest path from `last` to the goal over all points outside `set`. Computed
 * backwards from the goal, it lets the order be read from the front, smallest point first among equals.
 *
 * @see M. Held, R. M. Karp, "A dynamic programming approach to sequencing problems", 1962
 */
export function exactOrder({ viaCount, costMs }: CostMatrix): Order {
  const size = viaCount + 2
  const goal = viaCount + 1
  const all = (1 << viaCount) - 1
  if (viaCount === 0) return { via: [], costMs: costMs[goal]!, isOptimal: true }
  const rest = new Float64Array((all + 1) * viaCount) // set * viaCount + last → cost, milliseconds
  // descending: every set with one more point has a larger number and is complete by then
  for (let set = all; set > 0; set--) {
    for (let last = 0; last < viaCount; last++) {
      if ((set & (1 << last)) === 0) continue
      const row = (last + 1) * size
      // only the full set may go on to the goal
      let best = set === all ? costMs[row + goal]! : Number.POSITIVE_INFINITY
      for (let next = 0; next < viaCount; next++) {
        if ((set & (1 << next)) !== 0) continue
        const total = costMs[row + next + 1]! + rest[(set | (1 << next)) * viaCount + next]!
        if (total < best) best = total
      }
      rest[set * viaCount + last] = best
    }
  }
  return readOrder(viaCount, costMs, rest)
}

/** Reads the order from the front: always the point that the least cost of the rest begins with. */
function readOrder(viaCount: number, costMs: Float64Array, rest: Float64Array): Order {
  const size = viaCount + 2
  const via: number[] = []
  let set = 0
  let row = 0
  // the least sum of the first choice is the cost of the whole order
  let totalMs = Number.POSITIVE_INFINITY
  while (via.length < viaCount) {
    let best = -1
    let bestMs = Number.POSITIVE_INFINITY
    for (let next = 0; next < viaCount; next++) {
      if ((set & (1 << next)) !== 0) continue
      const nextMs = costMs[row * size + next + 1]! + rest[(set | (1 << next)) * viaCount + next]!
      // the first point is taken even at Infinity, so that an order always holds each point once
      if (best >= 0 && nextMs >= bestMs) continue
      best = next
      bestMs = nextMs
    }
    if (via.length === 0) totalMs = bestMs
    via.push(best)
    set |= 1 << best
    row = best + 1
  }
  return { via, costMs: totalMs, isOptimal: true }
}
