import fc from 'fast-check'
import t from 'tap'
import { distanceM } from '../../../src/geo/geodesic.js'
import { hopM } from '../../../src/mapbuild/network/lengths.js'

const lat = fc.integer({ min: -899_000_000, max: 899_000_000 })

/** Up to 0.04 degree, around the bound of the series; and up to 5 degrees, where it would be wrong. */
const step = fc.oneof(
  fc.integer({ min: -400_000, max: 400_000 }),
  fc.integer({ min: -50_000_000, max: 50_000_000 }),
)

t.test('property: hopM is the geodesic distance to a part in a billion and three nanometres', async (t) => {
  fc.assert(
    fc.property(lat, step, step, (latE7, dLng, dLat) => {
      const toLat = Math.max(-900_000_000, Math.min(900_000_000, latE7 + dLat))
      const exact = distanceM([0, latE7 / 1e7], [dLng / 1e7, toLat / 1e7])
      const found = hopM(0, latE7, dLng, toLat)
      if (Math.abs(found - exact) > exact * 1e-9 + 3e-9) throw new Error(`${found} m, expected ${exact} m`)
    }),
    { numRuns: 5000 },
  )
  t.equal(hopM(100, 200, 100, 200), 0)
  t.ok(Math.abs(hopM(0, 0, 1_800_000_000, 0) - 20_003_931.4586) < 0.001, 'half round the Earth')
})
