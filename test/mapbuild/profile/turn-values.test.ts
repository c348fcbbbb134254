import t from 'tap'
import { drivesOnLeft } from '../../../src/mapbuild/profile/driving-side.js'
import { angleMs, rankOf } from '../../../src/mapbuild/profile/turn-values.js'

t.test('angleMs: the values of OSRM, in tenths of a second', async (t) => {
  const right = [0, 45, 90, 135, 179].map((degrees) => angleMs(degrees, false))
  const left = [-1, -45, -90, -135, -180].map((degrees) => angleMs(degrees, false))
  t.same(right, [0, 100, 2100, 6700, 7500])
  t.same(left, [0, 500, 5400, 7400, 7500])
})

t.test('angleMs: where traffic drives on the left the sides are swapped', async (t) => {
  for (let degrees = -180; degrees <= 180; degrees += 7)
    t.equal(angleMs(degrees, true), angleMs(-degrees, false), `${degrees}`)
})

t.test('rankOf: classes in order; links between roads rank with residential roads', async (t) => {
  const order = ['service', 'residential', 'tertiary', 'secondary', 'primary', 'trunk', 'motorway']
  t.same(order.map(rankOf), [1, 2, 3, 4, 5, 6, 7])
  t.same(['motorway_link', 'unclassified', 'road'].map(rankOf), [2, 2, 2])
  t.same([undefined, '', 'constructor', 'footway'].map(rankOf), [1, 1, 1, 1])
})

t.test('drivesOnLeft: by country; right where it is not known', async (t) => {
  for (const country of ['GB', 'uk', 'JP', 'in', 'AU']) t.ok(drivesOnLeft(country), country)
  for (const country of ['PT', 'US', 'XX', '', null]) t.notOk(drivesOnLeft(country), `${country}`)
})
