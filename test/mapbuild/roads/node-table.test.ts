import fc from 'fast-check'
import t from 'tap'
import { findId, NO_INDEX, sortedIds } from '../../../src/mapbuild/roads/node-table.js'

t.test('property: findId finds every id from any start', async (t) => {
  const list = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(list, fc.integer({ min: -60, max: 60 }), fc.nat(60), (values, id, near) => {
      const ids = sortedIds(Float64Array.from(values))
      t.same(
        [...ids],
        [...new Set(values)].sort((a, b) => a - b),
      )
      const position = ids.indexOf(id)
      t.equal(findId(ids, id, near), position < 0 ? NO_INDEX : position)
    }),
  )
  t.equal(findId(new Float64Array(0), 5, 0), NO_INDEX)
})
