import fc from 'fast-check'
import t from 'tap'
import type { Stored } from '../../../../src/storage/columns/column-type.js'
import { compareStored, createSorter, takeSorted } from '../../../../src/storage/sqlite/tables/sort.js'

t.test('compareStored: numbers, then text, then bytes, null last', async (t) => {
  const ascending: Stored[] = [
    ...[-Infinity, -1n, 0, 1.5, 2n, Infinity],
    ...['', 'A', 'NaN', 'a', 'ab', '\uFF5E', '\u{10000}', '\u{10FFFF}'],
    ...[Buffer.of(), Buffer.of(0), Buffer.of(0, 1), Buffer.of(255)],
    null,
  ]
  for (const [at, a] of ascending.entries())
    for (const [other, b] of ascending.entries())
      t.equal(Math.sign(compareStored(a, b)), Math.sign(at - other), `${String(a)} and ${String(b)}`)
})

t.test('property: a sorter gives what one sort of all rows gives, however many are wanted', async () => {
  const row = fc.tuple(fc.option(fc.integer({ min: 0, max: 3 })), fc.stringMatching(/^[ab]{0,1}$/))
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 40 }),
      fc.tuple(fc.boolean(), fc.boolean()),
      fc.nat(50),
      fc.integer({ min: 1, max: 9 }),
      (rows, descending, most, perTake) => {
        const repeated = Array.from({ length: 300 }, () => rows).flat() // more than one chunk
        const sorter = createSorter(descending, most)
        for (const [rowId, keys] of repeated.entries()) sorter.add({ rowId, keys })
        const found: number[] = []
        while (found.length < most) {
          const ids = sorter.take(Math.min(perTake, most - found.length))
          if (ids.length === 0) break
          found.push(...ids)
        }
        const order = (a: Stored, b: Stored, isDescending: boolean) =>
          isDescending ? compareStored(b, a) : compareStored(a, b)
        const expected = repeated
          .map((keys, rowId) => ({ keys, rowId }))
          .sort(
            (a, b) =>
              order(a.keys[0], b.keys[0], descending[0]) ||
              order(a.keys[1], b.keys[1], descending[1]) ||
              a.rowId - b.rowId,
          )
          .slice(0, most)
          .map(({ rowId }) => rowId)
        if (found.join() !== expected.join()) throw new Error(`found ${found}, expected ${expected}`)
      },
    ),
    { numRuns: 40 },
  )
})

t.test('property: in little memory, several passes give what one gives', async () => {
  const key = fc.option(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.stringMatching(/^[ab]{0,9}$/)))
  const property = fc.asyncProperty(
    fc.array(key, { maxLength: 120 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 5000 }),
    fc.integer({ min: 1, max: 50 }),
    fc.constantFrom(Infinity, 7, 60),
    async (keys, isDescending, maxBytes, perTake, most) => {
      const all = async (bytes: number | undefined) => {
        const sorter = createSorter([isDescending], most, bytes)
        let passes = 0
        const scan = async () => {
          passes++
          for (const [rowId, one] of keys.entries()) sorter.add({ rowId, keys: [one] })
        }
        await scan()
        const found: number[] = []
        while (found.length < most) {
          const ids = await takeSorted(sorter, scan, Math.min(perTake, most - found.length))
          if (ids.length === 0) break
          found.push(...ids)
        }
        return { text: found.join(), passes }
      }
      const expected = await all(undefined)
      const found = await all(maxBytes)
      if (expected.passes !== 1) throw new Error('one pass is enough')
      if (found.text !== expected.text) throw new Error(`found ${found.text}, expected ${expected.text}`)
    },
  )
  await fc.assert(property, { numRuns: 400 })
})

t.test('sorter: a pass holds as many rows as its memory, and one row whatever its size', async (t) => {
  for (const [chars, maxBytes, most] of [
    [1000, 100_000, Infinity],
    [1000, 100_000, 100],
    [1_000_000, 1000, Infinity],
  ] as const) {
    const sorter = createSorter([false], most, maxBytes)
    for (let rowId = 0; rowId < 200; rowId++)
      sorter.add({ rowId, keys: [`${String(rowId % 100).padStart(3, '0')}${'x'.repeat(chars)}`] })
    const held = sorter.take(200).length
    const fits = Math.max(1, Math.floor(maxBytes / (2 * chars)))
    t.ok(held >= 1 && held <= fits, `${held} rows of ${chars} characters in ${maxBytes} bytes`)
    t.ok(sorter.again(), 'others are left')
  }
})
