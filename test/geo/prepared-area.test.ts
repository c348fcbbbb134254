import t from 'tap'
import { prepareArea } from '../../src/geo/prepared-area.js'
import type { Geometry } from '../../src/geo/types.js'
import { encodeWkb } from '../../src/geo/wkb.js'

const SQUARE: Geometry = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [4, 0],
      [4, 4],
      [0, 4],
      [0, 0],
    ],
  ],
}
const point = (x: number, y: number): Geometry => ({ type: 'Point', coordinates: [x, y] })

t.test('prepareArea: a point in WKB, at any alignment', async (t) => {
  const area = prepareArea(SQUARE)
  for (const shift of [0, 1, 3, 8]) {
    const bytes = (geometry: Geometry) =>
      encodeWkb(geometry, (size) => new Uint8Array(size + shift).subarray(shift))
    t.equal(area.intersectsWkb(bytes(point(1, 2))), true, 'inside')
    t.equal(area.intersectsWkb(bytes(point(4, 4))), true, 'on a corner')
    t.equal(area.intersectsWkb(bytes(point(1, 4.000001))), false, 'outside')
  }
})

t.test('prepareArea: WKB that cannot be read neither intersects nor is contained', async (t) => {
  const area = prepareArea(SQUARE)
  const wrongType = encodeWkb(point(1, 2))
  wrongType[2] = 1 // type 257
  for (const wkb of [wrongType, encodeWkb(point(1, 2)).subarray(0, 20), new Uint8Array(0)]) {
    t.equal(area.intersectsWkb(wkb), false)
    t.equal(area.containsWkb(wkb), false)
  }
})

t.test('prepareArea: other geometries, and an empty area', async (t) => {
  const area = prepareArea(SQUARE)
  const line: Geometry = {
    type: 'LineString',
    coordinates: [
      [1, 1],
      [9, 1],
    ],
  }
  t.equal(area.intersectsWkb(encodeWkb(line)), true)
  t.equal(area.intersectsGeometry(line), true)
  t.equal(area.containsWkb(encodeWkb(line)), false)
  t.equal(area.containsGeometry(point(1, 1)), true)
  t.equal(area.intersectsPoint(5, 5), false)
  const none = prepareArea({ type: 'GeometryCollection', geometries: [] })
  t.equal(none.bbox, undefined)
  t.equal(none.intersectsPoint(0, 0), false)
})
