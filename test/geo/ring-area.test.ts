import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { coversArea } from '../../src/geo/ring-area.js'
import type { Position } from '../../src/geo/types.js'

t.test('coversArea: true for rings around an area, false for points and lines', async (t) => {
  const rows: [Position[], boolean][] = [
    [[[0, 0], [1, 0], [0, 1], [0, 0]], true],
    [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]], true],
    [[[0, 0], [0, 0], [0, 0], [0, 0]], false],
    [[[0, 0], [1, 1], [2, 2], [0, 0]], false],
    [[[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.1, 0.1]], false],
    [[[0, 0], [1, 0], [1, 1], [1, 0], [0, 0]], false],
    [[[0, 0], [1, 0], [1, 1e-300], [0, 0]], true],
    [[], false],
  ] // biome-ignore format: one ring a line
  for (const [ring, expected] of rows) t.equal(coversArea(ring), expected, JSON.stringify(ring))
})

/** Sides that are left when each pair of opposite ones is taken away; exact for small integers. */
function hasArea(ring: readonly Position[]): boolean {
  const left: [Position, Position][] = []
  for (let i = 0; i + 1 < ring.length; i++) {
    const [from, to] = [ring[i] as Position, ring[i + 1] as Position]
    if (String(from) === String(to)) continue
    const back = left.findIndex(([a, b]) => String(a) === String(to) && String(b) === String(from))
    if (back >= 0) left.splice(back, 1)
    else left.push([from, to])
  }
  const [[a, b] = []] = left
  if (a === undefined || b === undefined) return false
  return left.some(([, [x, y]]) => (b[0] - a[0]) * (y - a[1]) !== (b[1] - a[1]) * (x - a[0]))
}

t.test('property: the area of a ring is found by its sides, whatever their order', async () => {
  const place = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }))
  const property = fc.property(fc.array(place, { minLength: 3, maxLength: 9 }), (places) => {
    const ring = [...places, places[0] as Position]
    equal(coversArea(ring), hasArea(ring))
    const there = [...places, ...places.toReversed(), places[0] as Position]
    equal(coversArea(there), hasArea(there))
  })
  fc.assert(property, { numRuns: 2000 })
})
