import fc from 'fast-check'
import t from 'tap'
import { CRS_URIS, findCrs, projectGeometry, toLngLatBox } from '../../src/ogc/crs.js'

const lng = fc.double({ min: -180, max: 180, noNaN: true })
const lat = fc.double({ min: -85, max: 85, noNaN: true })

t.test('property: what a system makes of a place, it brings back to it', async () => {
  fc.assert(
    fc.property(lng, lat, fc.constantFrom(...CRS_URIS), (x, y, uri) => {
      const crs = findCrs(uri)
      const [a = 0, b = 0] = crs?.fromLngLat([x, y]) ?? []
      const [backX, backY] = crs?.toLngLat(a, b) ?? [Number.NaN, Number.NaN]
      return Math.abs(backX - x) < 1e-9 && Math.abs(backY - y) < 1e-9
    }),
  )
})

t.test('projectGeometry: every position of every type, heights left as they are', async (t) => {
  const crs = findCrs('http://www.opengis.net/def/crs/EPSG/0/4326')
  if (crs === undefined) throw new Error('EPSG:4326 is gone')
  t.same(projectGeometry({ type: 'Point', coordinates: [1, 2, 30] }, crs), {
    type: 'Point',
    coordinates: [2, 1, 30],
  })
  const ring: [number, number][] = [
    [0, 1],
    [2, 3],
    [4, 5],
    [0, 1],
  ]
  const turned = ring.map(([x, y]) => [y, x])
  t.same(
    projectGeometry(
      { type: 'GeometryCollection', geometries: [{ type: 'MultiPolygon', coordinates: [[ring]] }] },
      crs,
    ),
    { type: 'GeometryCollection', geometries: [{ type: 'MultiPolygon', coordinates: [[turned]] }] },
  )
  t.same(toLngLatBox([1, 2, 3, 4], crs), [2, 1, 4, 3])
})

t.test('EPSG:3857: the poles are set to the edge of the square map', async (t) => {
  const crs = findCrs('http://www.opengis.net/def/crs/EPSG/0/3857')
  const [x = 0, y = 0] = crs?.fromLngLat([180, 90]) ?? []
  t.ok(Math.abs(x - 20_037_508.342_789) < 1e-5)
  t.ok(Math.abs(y - 20_037_508.342_789) < 1e-5)
  t.equal(findCrs('EPSG:3857'), undefined)
})
