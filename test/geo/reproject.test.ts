import fc from 'fast-check'
import t from 'tap'
import { canReproject, fromMercator, reproject, reprojectBox, toMercator } from '../../src/geo/reproject.js'
import type { Geometry } from '../../src/geo/types.js'

t.test('toMercator: the worked example of EPSG guidance note 7-2, section 3.5.2', async (t) => {
  // 24°22'54.433"N, 100°20'00.000"W
  const [x, y] = toMercator(-(100 + 20 / 60), 24 + 22 / 60 + 54.433 / 3600)
  t.ok(Math.abs(x - -11_169_055.58) < 0.01 && Math.abs(y - 2_800_000) < 0.01, `${x} ${y}`)
})

t.test('property: Mercator and back is the same place', async () => {
  const degrees = (max: number) => fc.double({ min: -max, max, noNaN: true })
  fc.assert(
    fc.property(degrees(180), degrees(89), (lng, lat) => {
      const [back, backLat] = fromMercator(...toMercator(lng, lat))
      return Math.abs(back - lng) < 1e-9 && Math.abs(backLat - lat) < 1e-9
    }),
  )
})

t.test('toMercator: the poles are finite and beyond every other latitude', async (t) => {
  for (const sign of [1, -1]) {
    const [, pole] = toMercator(0, 90 * sign)
    const [, near] = toMercator(0, 89.999_999 * sign)
    t.ok(Number.isFinite(pole) && Math.abs(pole) > Math.abs(near))
  }
})

t.test(
  'reproject: every position of every type, heights kept; the same system changes nothing',
  async (t) => {
    const collection: Geometry = {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [180, 0, 7] },
        { type: 'LineString', coordinates: [] },
        {
          type: 'MultiPoint',
          coordinates: [
            [0, 0],
            [-180, 0],
          ],
        },
      ],
    }
    const edge = Math.PI * 6_378_137
    t.equal(reproject(collection, 4326, 4326), collection)
    t.same(reproject(collection, 4326, 3857), {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [edge, 0, 7] },
        { type: 'LineString', coordinates: [] },
        {
          type: 'MultiPoint',
          coordinates: [
            [0, 0],
            [-edge, 0],
          ],
        },
      ],
    })
    t.same(reprojectBox([-180, 0, 180, 0], 4326, 3857), [-edge, 0, edge, 0])
    const back = reprojectBox([-edge, 0, edge, 0], 3857, 4326)
    t.same(
      back?.map((degrees) => Math.round(degrees * 1e9) / 1e9),
      [-180, 0, 180, 0],
    )
    t.same(reprojectBox([1, 2, 3, 4], 2451, 2451), [1, 2, 3, 4])
  },
)

t.test('reproject: other systems cannot be converted', async (t) => {
  t.equal(reproject({ type: 'Point', coordinates: [0, 0] }, 4326, 2451), undefined)
  t.equal(reproject({ type: 'Point', coordinates: [0, 0] }, 2451, 3857), undefined)
  t.equal(reprojectBox([0, 0, 1, 1], 2451, 4326), undefined)
  t.same([canReproject(4326, 3857), canReproject(2451, 2451), canReproject(2451, 4326)], [true, true, false])
})
