import t from 'tap'
import type { Geometry } from '../../../src/geo/types.js'
import { inWgs84 } from '../../../src/storage/columns/search-area.js'

t.test('inWgs84: converts what it can; a geometry without a system stays as stored', async (t) => {
  const point: Geometry = { type: 'Point', coordinates: [0, 0] }
  t.equal(inWgs84(point, null), point)
  t.equal(inWgs84(point, 2056), point, 'a system that cannot be converted')
  const far: Geometry = { type: 'Point', coordinates: [20037508.342789244, 0] }
  const { coordinates } = inWgs84(far, 3857) as { coordinates: number[] }
  t.ok(Math.abs((coordinates[0] as number) - 180) < 1e-9, String(coordinates))
})
