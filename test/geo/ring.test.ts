import fc from 'fast-check'
import t from 'tap'
import { cutsOfSegment, hasEdgeNear } from '../../src/geo/cuts.js'
import { isInAreasHalfOpen } from '../../src/geo/locate.js'
import { cutsOfRing, hasRingEdgeNear, isInRingHalfOpen } from '../../src/geo/ring.js'
import { shapeOf } from '../../src/geo/shape.js'
import type { Position } from '../../src/geo/types.js'

/** Few values, so that points fall on corners and borders, and edges along each other. */
const place = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))
const ring = fc.array(place, { minLength: 3, maxLength: 16 })

t.test('property: a ring says what a shape of it says', async (t) => {
  fc.assert(
    fc.property(ring, place, place, (open, [ax, ay], [bx, by]) => {
      const closed: Position[] = [...open, open[0]!]
      const shape = shapeOf({ type: 'Polygon', coordinates: [closed] })
      const flat = closed.flat()
      const [cuts, expected]: [number[], number[]] = [[], []]
      cuts.length = cutsOfRing(flat, ax, ay, bx, by, cuts)
      expected.length = cutsOfSegment(shape, ax, ay, bx, by, expected)
      const [west, east, south, north] = [
        Math.min(ax, bx),
        Math.max(ax, bx),
        Math.min(ay, by),
        Math.max(ay, by),
      ]
      return (
        // the tree leaves edges out that lie far off: their cuts are never within the segment
        expected.every((cut) => cuts.includes(cut)) &&
        hasRingEdgeNear(flat, west, south, east, north) === hasEdgeNear(shape, west, south, east, north) &&
        isInRingHalfOpen(flat, ax, ay) === isInAreasHalfOpen(shape, ax, ay) &&
        isInRingHalfOpen(flat, ax + 0.5, by) === isInAreasHalfOpen(shape, ax + 0.5, by)
      )
    }),
    { numRuns: 5000 },
  )
  t.pass('5000 rings')
})
