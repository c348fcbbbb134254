import t from 'tap'
import { findSharedKeys } from '../../../src/console/tables/shared-keys.js'

const record = (properties: Record<string, unknown> | null, geometry: unknown = null) => ({
  type: 'Feature' as const,
  geometry,
  properties,
})

t.test('findSharedKeys: counts records with the key of an earlier one, with three examples', async (t) => {
  const records = ['a', 'b', 'a', 'a', 'c', 'b', 'b'].map((gauge) => record({ gauge, n: 1 }))
  t.same(findSharedKeys(records, ['gauge']), {
    count: 4,
    examples: [
      { first: 0, second: 2, key: 'gauge "a"' },
      { first: 0, second: 3, key: 'gauge "a"' },
      { first: 1, second: 5, key: 'gauge "b"' },
    ],
  })
  t.equal(findSharedKeys(records, ['gauge', 'n']).examples[0]?.key, 'gauge "a", n 1')
})

t.test('findSharedKeys: every column of the key counts, the geometry as location', async (t) => {
  const at = (x: number) => ({ type: 'Point', coordinates: [x, 0] })
  const records = [record({ a: 1 }, at(1)), record({ a: 1 }, at(2)), record({ a: 1 }, at(1))]
  t.match(findSharedKeys(records, ['a', 'location']), { count: 1, examples: [{ first: 0, second: 2 }] })
  t.match(findSharedKeys([record({ a: 1 }), record({ a: '1' })], ['a']), { count: 0 })
})

t.test('findSharedKeys: a record without a value for the key is left to the gateway', async (t) => {
  const records = [record({ a: null }), record({ a: null }), record({}), record({}), record(null)]
  t.same(findSharedKeys(records, ['a']), { count: 0, examples: [] })
})

t.test('findSharedKeys: a long key is cut', async (t) => {
  const long = record({ a: 'x'.repeat(1000) })
  t.equal(findSharedKeys([long, long], ['a']).examples[0]?.key.length, 100)
})
