import t from 'tap'
import { distanceM, walkGeodesic } from '../../src/geo/geodesic.js'

t.test('distanceM: known lengths on the ellipsoid', async (t) => {
  t.ok(Math.abs(distanceM([0, 0], [1, 0]) - 111_319.4907932264) < 1e-6, 'a degree of the equator')
  t.ok(Math.abs(distanceM([0, 0], [0, 90]) - 10_001_965.729312) < 1e-3, 'a quarter meridian')
  // the example of GeographicLib: Wellington to Salamanca
  t.ok(Math.abs(distanceM([174.81, -41.32], [-5.5, 40.96]) - 19_959_679.267) < 1e-2)
  t.equal(distanceM([8.6, 41.1], [8.6, 41.1]), 0)
})

t.test('walkGeodesic: places at their distances, also across the antimeridian', async (t) => {
  const walk = walkGeodesic([179, 10], [-178, 12])
  for (const fraction of [0, 0.25, 0.5, 1]) {
    const [lng, lat] = walk.at(walk.lengthM * fraction)
    t.ok(Math.abs(distanceM([179, 10], [lng, lat]) - walk.lengthM * fraction) < 1e-6)
    t.ok(lng >= -180 && lng <= 180)
  }
  t.equal(walkGeodesic([1, 2], [1, 2]).lengthM, 0)
})
