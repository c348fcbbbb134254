import fc from 'fast-check'
import t from 'tap'
import { createOutline } from '../../../src/mapbuild/network/outline.js'

t.test('property: an outline holds all points with its margin, and not much more', async (t) => {
  const points = fc.array(
    fc.tuple(fc.integer({ min: -5e6, max: 5e6 }), fc.integer({ min: 400e6, max: 405e6 })),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  fc.assert(
    fc.property(points, (list) => {
      const outline = createOutline()
      for (const [lng, latE7] of list) outline.add(lng, latE7)
      const [ring = []] = outline.polygon(1000).coordinates
      t.same(ring[0], ring[ring.length - 1])
      for (let i = 1; i < ring.length; i++) {
        const [ax = 0, ay = 0] = ring[i - 1] ?? []
        const [bx = 0, by = 0] = ring[i] ?? []
        for (const [x, y] of list) {
          // to the left of every side: inside of a convex ring that runs counter-clockwise
          const cross = (bx - ax) * (y / 1e7 - ay) - (by - ay) * (x / 1e7 - ax)
          if (cross < Math.hypot(bx - ax, by - ay) * 0.0089) t.fail(`a point lies ${cross} from a side`)
        }
      }
      const xs = list.map(([x]) => x)
      const ys = list.map(([, y]) => y)
      t.same(outline.bbox(), [
        Math.min(...xs) / 1e7,
        Math.min(...ys) / 1e7,
        Math.max(...xs) / 1e7,
        Math.max(...ys) / 1e7,
      ])
    }),
    { numRuns: 50 },
  )
})
