import fc from 'fast-check'
import t from 'tap'
import { sortOrder } from '../../../src/mapbuild/arrays/sort-order.js'

t.test('property: sortOrder sorts as a stable sort does', async (t) => {
  const keys = fc.array(fc.oneof(fc.nat(5), fc.integer({ min: 0, max: 0xffffffff })), { maxLength: 40 })
  fc.assert(
    fc.property(keys, (list) => {
      const expected = list.map((key, i) => ({ key, i })).sort((a, b) => a.key - b.key)
      t.same(
        [...sortOrder(Uint32Array.from(list))],
        expected.map(({ i }) => i),
      )
    }),
  )
  const byOther = sortOrder(Uint32Array.of(1, 0, 1, 0), sortOrder(Uint32Array.of(9, 8, 7, 6)))
  t.same([...byOther], [3, 1, 2, 0])
})
