import { type CostMatrix, costOfOrder, type Order } from './cost-matrix.js'

const RANDOM_STARTS = 6
const SEED = 20_261_121
/** Longest run of points that Or-opt moves together. */
const MAX_RUN = 3
/** Represents "no path" while orders are compared: more than any real order, and sums of it stay exact. */
const NO_WAY_MS = 2 ** 42

/**
 * Finds a good order of many via points: local search by 2-opt and Or-opt from several starts (the order as
 * given, nearest neighbour, and shuffles from a fixed seed). The best result wins, the earliest start among
 * equals.
 *
 * Costs differ by direction, so a 2-opt move also changes the cost of the reversed part.
 *
 * @returns never more expensive than the order as given; equal input gives an equal order
 */
export function improveOrder(matrix: CostMatrix): Order {
  // Infinity - Infinity is NaN, which would hide improvements of orders with several blocked legs
  const finite: CostMatrix = {
    viaCount: matrix.viaCount,
    costMs: matrix.costMs.map((ms) => Math.min(ms, NO_WAY_MS)),
  }
  let best: number[] = []
  let bestMs = Number.POSITIVE_INFINITY
  for (const start of starts(finite)) {
    const tour = descend(finite, start)
    const ms = costOfOrder(finite, tour)
    if (ms >= bestMs) continue
    best = tour
    bestMs = ms
  }
  // the cost under the real matrix: Infinity when the order contains a blocked leg
  return { via: best, costMs: costOfOrder(matrix, best), isOptimal: false }
}

/** Lists the starts of the local searches, the order as given first. */
function starts(matrix: CostMatrix): number[][] {
  const given = Array.from({ length: matrix.viaCount }, (_, i) => i)
  const random = createRandom(SEED)
  const shuffles = Array.from({ length: RANDOM_STARTS }, () => shuffled(given, random))
  return [given, nearestNext(matrix), ...shuffles]
}

/** Builds the nearest-neighbour order: always on to the cheapest point that is left. */
function nearestNext({ viaCount, costMs }: CostMatrix): number[] {
  const size = viaCount + 2
  const left = new Set(Array.from({ length: viaCount }, (_, i) => i))
  const tour: number[] = []
  // row of the matrix that the next leg begins at: 0 = start, via point + 1
  let row = 0
  while (left.size > 0) {
    let best = -1
    let bestMs = Number.POSITIVE_INFINITY
    for (const point of left) {
      const ms = costMs[row * size + point + 1]!
      if (ms >= bestMs) continue
      best = point
      bestMs = ms
    }
    tour.push(best)
    left.delete(best)
    row = best + 1
  }
  return tour
}

/** Applies improving moves, pass after pass, until there is none. A pass is O(n²). */
function descend(matrix: CostMatrix, start: readonly number[]): number[] {
  const size = matrix.viaCount + 2
  const cost = matrix.costMs
  // rows of the matrix in order of visit, with start and goal at the ends
  const tour = [0, ...start.map((point) => point + 1), size - 1]
  let isBetter = true
  while (isBetter) isBetter = reverseParts(tour, cost, size) || moveRuns(tour, cost, size)
  return tour.slice(1, -1).map((row) => row - 1)
}

/** 2-opt: reverses `tour[i … j]` when that is cheaper. */
function reverseParts(tour: number[], cost: Float64Array, size: number): boolean {
  const last = tour.length - 1
  let isBetter = false
  // start and goal, the first and the last entry, never move
  for (let i = 1; i < last - 1; i++) {
    let ahead = 0 // cost of the part in its present direction
    let back = 0 // and reversed
    for (let j = i + 1; j < last; j++) {
      ahead += cost[tour[j - 1]! * size + tour[j]!]!
      back += cost[tour[j]! * size + tour[j - 1]!]!
      // the two legs at the borders of the part, and the part itself in either direction: O(1) for each j
      const before = cost[tour[i - 1]! * size + tour[i]!]! + ahead + cost[tour[j]! * size + tour[j + 1]!]!
      const after = cost[tour[i - 1]! * size + tour[j]!]! + back + cost[tour[i]! * size + tour[j + 1]!]!
      if (after >= before) continue
      for (let a = i, b = j; a < b; a++, b--) {
        const kept = tour[a]!
        tour[a] = tour[b]!
        tour[b] = kept
      }
      isBetter = true
      break // the sums along the part no longer hold
    }
  }
  return isBetter
}

/** Or-opt: moves a run of up to `MAX_RUN` points elsewhere when that is cheaper. */
function moveRuns(tour: number[], cost: Float64Array, size: number): boolean {
  let isBetter = false
  // cost from the place a to the place b of the tour
  const between = (a: number, b: number) => cost[tour[a]! * size + tour[b]!]!
  for (let length = 1; length <= MAX_RUN; length++) {
    for (let from = 1; from + length < tour.length; from++) {
      const to = from + length - 1
      // the run leaves a gap that is closed; it then opens another one
      const saved = between(from - 1, from) + between(to, to + 1) - between(from - 1, to + 1)
      for (let after = 0; after + 1 < tour.length; after++) {
        // gaps inside the run and next to it are no new places
        if (after >= from - 1 && after <= to) continue
        if (between(after, from) + between(to, after + 1) - between(after, after + 1) >= saved) continue
        const run = tour.splice(from, length)
        // places behind the run have moved forward by its length
        tour.splice(after < from ? after + 1 : after + 1 - length, 0, ...run)
        isBetter = true
        break
      }
    }
  }
  return isBetter
}

/** Returns the points in random order. @see R. Durstenfeld, "Algorithm 235: random permutation", 1964 */
function shuffled(points: readonly number[], random: () => number): number[] {
  const result = [...points]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const kept = result[i]!
    result[i] = result[j]!
    result[j] = kept
  }
  return result
}

/** Creates a generator of numbers in [0, 1) from a seed. @see G. Marsaglia, "Xorshift RNGs", 2003 */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    // three shifts of period 2^32 - 1; the state is never 0
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
