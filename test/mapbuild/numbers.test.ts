import fc from 'fast-check'
import t from 'tap'
import { distanceM } from '../../src/geo/geodesic.js'
import { HILBERT_SIDE, hilbert } from '../../src/geo/hilbert.js'
import { createGrowing, filled, push, reserve } from '../../src/mapbuild/arrays/growing.js'
import { sortOrder } from '../../src/mapbuild/arrays/sort-order.js'
import { createStringPool } from '../../src/mapbuild/arrays/string-pool.js'
import { hopM } from '../../src/mapbuild/network/lengths.js'
import { createOutline } from '../../src/mapbuild/network/outline.js'
import { findId, NO_INDEX, sortedIds } from '../../src/mapbuild/roads/node-table.js'
import { joinNotes, splitNotes } from '../../src/mapbuild/roads/note-text.js'
import { readString } from '../../src/routing/graph/strings.js'

const lat = fc.integer({ min: -899_000_000, max: 899_000_000 })
const step = fc.integer({ min: -400_000, max: 400_000 })

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

t.test('property: hilbert numbers every cell once, and neighbours on the curve are neighbours', async (t) => {
  const side = 32
  const shift = HILBERT_SIDE / side
  const cells: [number, number][] = []
  for (let x = 0; x < side; x++) {
    for (let y = 0; y < side; y++) cells[Math.floor(hilbert(x * shift, y * shift) / shift ** 2)] = [x, y]
  }
  t.equal(cells.filter((cell) => cell !== undefined).length, side * side)
  for (let i = 1; i < cells.length; i++) {
    const [ax, ay] = cells[i - 1] ?? [0, 0]
    const [bx, by] = cells[i] ?? [0, 0]
    if (Math.abs(ax - bx) + Math.abs(ay - by) !== 1) t.fail(`${ax} ${ay} to ${bx} ${by}`)
  }
  t.equal(hilbert(0, 0), 0)
  t.equal(hilbert(HILBERT_SIDE - 1, 0), 2 ** 32 - 1)
})

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

t.test('property: findId finds what is there from wherever it starts', async (t) => {
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

t.test('growing arrays: grow, keep what they have, and are read as far as they are filled', async (t) => {
  const numbers = createGrowing(Uint32Array, 1)
  for (let i = 0; i < 1000; i++) push(numbers, i * 3)
  t.equal(filled(numbers).length, 1000)
  t.equal(filled(numbers)[999], 2997)
  reserve(numbers, 10)
  t.equal(numbers.length, 1000)
})

t.test('string pool: each string once, readable where it is', async (t) => {
  const pool = createStringPool()
  const texts = ['', 'a', '桜通り', 'a', '🚲 & <x>', 'x'.repeat(100_000)]
  const offsets = texts.map((text) => pool.add(text))
  t.equal(offsets[0], 0)
  t.equal(offsets[1], offsets[3])
  for (const [i, offset] of offsets.entries()) {
    t.equal(readString({ strings: pool.bytes() }, offset), texts[i])
    t.equal(pool.text(offset), texts[i])
  }
})

t.test('notes: joined and split again, separators inside are made blanks', async (t) => {
  t.same(splitNotes(joinNotes([])), [])
  t.same(splitNotes(joinNotes(['a', 'b c'])), ['a', 'b c'])
  t.same(splitNotes(joinNotes(['a\u001fb'])), ['a b'])
})

t.test('property: an outline holds all points with its margin, and not much more', async (t) => {
  const points = fc.array(
    fc.tuple(fc.integer({ min: -5e6, max: 5e6 }), fc.integer({ min: 400e6, max: 405e6 })),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  fc.assert(
    fc.property(points, (list) => {
      const outline = createOutline()
      for (const [lng, latE7] of list) outline.add(lng, latE7)
      const [ring = []] = outline.polygon(1000).coordinates
      t.same(ring[0], ring[ring.length - 1])
      for (let i = 1; i < ring.length; i++) {
        const [ax = 0, ay = 0] = ring[i - 1] ?? []
        const [bx = 0, by = 0] = ring[i] ?? []
        for (const [x, y] of list) {
          // to the left of every side: inside of a convex ring that runs counter-clockwise
          const cross = (bx - ax) * (y / 1e7 - ay) - (by - ay) * (x / 1e7 - ax)
          if (cross < Math.hypot(bx - ax, by - ay) * 0.0089) t.fail(`a point lies ${cross} from a side`)
        }
      }
      const xs = list.map(([x]) => x)
      const ys = list.map(([, y]) => y)
      t.same(outline.bbox(), [
        Math.min(...xs) / 1e7,
        Math.min(...ys) / 1e7,
        Math.max(...xs) / 1e7,
        Math.max(...ys) / 1e7,
      ])
    }),
    { numRuns: 50 },
  )
})
