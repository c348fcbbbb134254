import fc from 'fast-check'
import t from 'tap'
import { cacheHop, createHopCache, findCachedHop } from '../../../src/routing/cch/hop-cache.js'

t.test('property: a cached path is the one cached last for its hop', async (t) => {
  const known = createHopCache(400) // 100 arcs: it is emptied many times
  const expected = new Map<number, { way: number[]; zeroCount: number }>()
  let found = 0
  const one = fc.record({
    code: fc.nat(60),
    before: fc.nat(3),
    way: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
    zeroCount: fc.nat(9),
  })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 30 }), (list) => {
      for (const { code, before, way, zeroCount } of list) {
        cacheHop(known, code, [...way.slice(0, before), ...way], Math.min(before, way.length), zeroCount)
        if (way.length >= 4) expected.set(code, { way, zeroCount })
      }
      for (const [code, { way, zeroCount }] of expected) {
        const slot = findCachedHop(known, code)
        if (slot < 0) continue
        found++
        const first = known.first[slot]!
        const arcs = [...known.arcs.subarray(first, first + known.count[slot]!)]
        if (known.zeroCount[slot] !== zeroCount || arcs.join() !== way.join()) return false
      }
      return known.arcs.length <= known.maxArcs && known.size <= known.maxArcs
    }),
  )
  t.ok(found > 50, `${found} found`)
})

t.test('cacheHop: paths that are too short or too long are not cached', async (t) => {
  const known = createHopCache(40)
  cacheHop(known, 1, [1, 2, 3], 0, 0)
  cacheHop(
    known,
    2,
    Array.from({ length: 11 }, (_, i) => i),
    0,
    0,
  )
  t.same([findCachedHop(known, 1), findCachedHop(known, 2)], [-1, -1])
})
