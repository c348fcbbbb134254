import fc from 'fast-check'
import t from 'tap'
import { type CostMatrix, costOfOrder } from '../../../src/routing/search/cost-matrix.js'
import { exactOrder, MAX_EXACT_VIA, orderVia } from '../../../src/routing/search/order.js'
import { improveOrder } from '../../../src/routing/search/order-heuristic.js'
import { seeded } from '../../support/random-graph.js'

const cost = fc.oneof(
  { weight: 20, arbitrary: fc.nat(50) },
  { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
)

function matrices(maxVia: number): fc.Arbitrary<CostMatrix> {
  return fc
    .integer({ min: 0, max: maxVia })
    .chain((viaCount) =>
      fc
        .array(cost, { minLength: (viaCount + 2) ** 2, maxLength: (viaCount + 2) ** 2 })
        .map((costs) => ({ viaCount, costMs: Float64Array.from(costs) })),
    )
}

t.test(
  'property: the exact order is the first in lexicographic order of the cheapest permutations',
  async (t) => {
    fc.assert(
      fc.property(matrices(5), (matrix) => {
        const all = permutations(Array.from({ length: matrix.viaCount }, (_, i) => i))
        const costs = all.map((via) => costOfOrder(matrix, via))
        const best = Math.min(...costs)
        const order = exactOrder(matrix)
        if (order.costMs !== best || !order.isOptimal) return false
        return best === Number.POSITIVE_INFINITY || `${order.via}` === `${all[costs.indexOf(best)]}`
      }),
      { numRuns: 400 },
    )
    t.pass('400 matrices')
  },
)

t.test('property: improveOrder finds a permutation that never costs more than the order given', async (t) => {
  fc.assert(
    fc.property(matrices(9), (matrix) => {
      const given = Array.from({ length: matrix.viaCount }, (_, i) => i)
      const order = improveOrder(matrix)
      return (
        `${[...order.via].sort((a, b) => a - b)}` === `${given}` &&
        order.costMs === costOfOrder(matrix, order.via) &&
        order.costMs <= costOfOrder(matrix, given) &&
        !order.isOptimal
      )
    }),
    { numRuns: 200 },
  )
  t.pass('200 matrices')
})

t.test('orderVia: exact up to 12 via points, improved beyond, the same at every call', async (t) => {
  const exact = orderVia(pointsOnACircle(MAX_EXACT_VIA))
  const improved = orderVia(pointsOnACircle(MAX_EXACT_VIA + 1))
  t.equal(exact.isOptimal, true)
  t.equal(improved.isOptimal, false)
  t.same(improved, orderVia(pointsOnACircle(MAX_EXACT_VIA + 1)))
})

t.test('improveOrder: 60 points on a circle are visited around the circle', async (t) => {
  const matrix = pointsOnACircle(60)
  const order = improveOrder(matrix)
  t.ok(order.costMs <= 2 * 3142 * 1.1, `tour of ${order.costMs}`)
})

t.test('exactOrder: each point once where no order has a path', async (t) => {
  const blocked = { viaCount: 3, costMs: new Float64Array(25).fill(Number.POSITIVE_INFINITY) }
  t.same(exactOrder(blocked), { via: [0, 1, 2], costMs: Number.POSITIVE_INFINITY, isOptimal: true })
})

t.test(
  'improveOrder: mostly the cheapest order of nine points, with and without one-way streets',
  async (t) => {
    for (const [title, skew, least] of [
      ['both ways alike', 0, 98],
      ['one-way streets', 600, 95],
    ] as const) {
      // biome-ignore format: cases
      const random = seeded(77)
      let found = 0
      for (let run = 0; run < 100; run++) {
        const matrix = pointsOnAPlane(9, random, skew)
        if (improveOrder(matrix).costMs === exactOrder(matrix).costMs) found++
      }
      t.ok(found >= least, `${title}: ${found} of 100`)
    }
  },
)

/** Shuffled points on a circle of radius 1000 whose start and goal are neighbours. */
function pointsOnACircle(viaCount: number): CostMatrix {
  const size = viaCount + 2
  const turn = (i: number) => (i === 0 ? 0 : i === size - 1 ? size - 1 : (i * 7) % (size - 1) || 7)
  const angle = (i: number) => (turn(i) / size) * 2 * Math.PI
  const costMs = new Float64Array(size * size)
  for (let a = 0; a < size; a++) {
    for (let b = 0; b < size; b++)
      costMs[a * size + b] = Math.round(2000 * Math.abs(Math.sin((angle(a) - angle(b)) / 2)))
  }
  return { viaCount, costMs }
}

/** Random points in a square of 1000; up to `skew` is added to each cost, in each direction by itself. */
function pointsOnAPlane(viaCount: number, random: () => number, skew: number): CostMatrix {
  const size = viaCount + 2
  const places = Array.from({ length: size }, () => [random() * 1000, random() * 1000] as const)
  const costMs = new Float64Array(size * size)
  for (const [a, [ax, ay]] of places.entries()) {
    for (const [b, [bx, by]] of places.entries())
      costMs[a * size + b] = Math.round(Math.hypot(ax - bx, ay - by) + random() * skew)
  }
  return { viaCount, costMs }
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]))
}
