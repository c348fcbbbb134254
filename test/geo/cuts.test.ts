import fc from 'fast-check'
import t from 'tap'
import { createSegmentCuts, cutByBorders, hasEdgeNear } from '../../src/geo/cuts.js'
import { isInAreaHalfOpen } from '../../src/geo/locate.js'
import type { Area, Ring } from '../../src/geo/ring.js'
import { shapeOf } from '../../src/geo/shape.js'
import type { Position } from '../../src/geo/types.js'

/** Few values, so that points fall on corners and borders, and edges along each other. */
const place = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))
const ring = fc.array(place, { minLength: 3, maxLength: 16 })

const cutsOf = (area: Area, [ax, ay]: [number, number], [bx, by]: [number, number]) => {
  const cuts = Object.assign(createSegmentCuts(), { ax, ay, bx, by, count: 7 })
  cutByBorders(area, cuts)
  return cuts.at.slice(0, cuts.count)
}

/** A ring in an array that begins and ends with other positions. */
function ringAmongOthers(closed: readonly (readonly number[])[]): Ring {
  const xy = Float64Array.of(-1e6, 1e6, 1e6, -1e6, ...closed.flat(), 1e6, 1e6)
  return { xy, first: 2, last: closed.length + 1, nodeCount: undefined }
}

t.test('property: a ring and a shape of it give the same cuts and the same places', async (t) => {
  fc.assert(
    fc.property(ring, place, place, (open, a, b) => {
      const closed: Position[] = [...open, open[0]!]
      const shape = shapeOf({ type: 'Polygon', coordinates: [closed] })
      const flat = ringAmongOthers(closed)
      const cuts = cutsOf(flat, a, b)
      const extent = {
        west: Math.min(a[0], b[0]),
        south: Math.min(a[1], b[1]),
        east: Math.max(a[0], b[0]),
        north: Math.max(a[1], b[1]),
      }
      return (
        // the tree leaves out edges that lie far off: their cuts are never within the segment
        cutsOf(shape, a, b).every((cut) => cuts.includes(cut)) &&
        hasEdgeNear(flat, extent) === hasEdgeNear(shape, extent) &&
        isInAreaHalfOpen(flat, ...a) === isInAreaHalfOpen(shape, ...a) &&
        isInAreaHalfOpen(flat, a[0] + 0.5, b[1]) === isInAreaHalfOpen(shape, a[0] + 0.5, b[1])
      )
    }),
    { numRuns: 5000 },
  )
  t.pass('5000 rings')
})

const SQUARE: [number, number][] = [
  [0, 0],
  [4, 0],
  [4, 4],
  [0, 4],
  [0, 0],
]

t.test('cutByBorders: shares of the segment, strictly inside it', async (t) => {
  const areas: Area[] = [ringAmongOthers(SQUARE), shapeOf({ type: 'Polygon', coordinates: [SQUARE] })]
  for (const area of areas) {
    t.same([...new Set(cutsOf(area, [-4, 1], [12, 1]))].sort(), [0.25, 0.5], 'through both sides')
    t.same(cutsOf(area, [0, 1], [4, 1]), [], 'ends on the border are no cuts')
    t.same([...new Set(cutsOf(area, [-2, 4], [6, 4]))].sort(), [0.25, 0.75], 'along a border: its ends')
    t.same(cutsOf(area, [2, 2], [2, 2]), [], 'a segment without extent')
    t.same(cutsOf(area, [5, 0], [9, 3]), [], 'beside the area')
  }
})

t.test(
  'isInAreaHalfOpen: the western and the southern border belong to an area, the others do not',
  async (t) => {
    const areas: Area[] = [ringAmongOthers(SQUARE), shapeOf({ type: 'Polygon', coordinates: [SQUARE] })]
    for (const area of areas) {
      t.equal(isInAreaHalfOpen(area, 0, 2), true, 'west')
      t.equal(isInAreaHalfOpen(area, 2, 0), true, 'south')
      t.equal(isInAreaHalfOpen(area, 0, 0), true, 'south-western corner')
      t.equal(isInAreaHalfOpen(area, 4, 2), false, 'east')
      t.equal(isInAreaHalfOpen(area, 2, 4), false, 'north')
      t.equal(isInAreaHalfOpen(area, 4, 0), false, 'south-eastern corner')
      t.equal(isInAreaHalfOpen(area, 0, 4), false, 'north-western corner')
    }
  },
)

t.test('hasEdgeNear: true when touched, false wholly inside or outside', async (t) => {
  const areas: Area[] = [ringAmongOthers(SQUARE), shapeOf({ type: 'Polygon', coordinates: [SQUARE] })]
  for (const area of areas) {
    t.equal(hasEdgeNear(area, { west: 1, south: 1, east: 3, north: 3 }), false, 'inside')
    t.equal(hasEdgeNear(area, { west: 5, south: 0, east: 6, north: 1 }), false, 'outside')
    t.equal(hasEdgeNear(area, { west: 4, south: 1, east: 6, north: 2 }), true, 'touching the east')
    t.equal(hasEdgeNear(area, { west: -2, south: 1, east: 0, north: 2 }), true, 'touching the west')
    t.equal(hasEdgeNear(area, { west: 1, south: 4, east: 2, north: 6 }), true, 'touching the north')
    t.equal(hasEdgeNear(area, { west: 1, south: -2, east: 2, north: 0 }), true, 'touching the south')
  }
})
