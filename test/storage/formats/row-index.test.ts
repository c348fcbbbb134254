import fc from 'fast-check'
import t from 'tap'
import { createRowIndexWriter, STRIDE, seekRowIndex } from '../../../src/storage/formats/row-index.js'

t.test('property: the row index leads to just before every offset', async (t) => {
  fc.assert(
    fc.property(
      fc.nat(5 * STRIDE),
      fc.array(fc.integer({ min: 1, max: 2 ** 20 }), { minLength: 1, maxLength: 8 }),
      fc.nat(5 * STRIDE),
      (count, gaps, offset) => {
        const ids: number[] = []
        for (let at = 0; at < count; at++) ids.push((ids.at(-1) ?? 0) + (gaps[at % gaps.length] as number))
        const writer = createRowIndexWriter()
        for (const id of ids) writer.add(id)
        const { afterId, skip } = seekRowIndex(writer.finish(), offset)
        const from = ids.findIndex((id) => id > afterId)
        const isClose = skip < STRIDE || offset > count - STRIDE
        return isClose && (from === -1 ? offset >= count : from + skip === offset)
      },
    ),
    { numRuns: 100 },
  )
  const writer = createRowIndexWriter()
  for (let id = 1; id <= 1_000_000; id++) writer.add(id)
  t.equal(writer.finish().length, 1952, 'two bytes for 1024 rows')
})

t.test('row index: bytes that end within an entry lead to a start, however far back', async (t) => {
  t.same(seekRowIndex(Uint8Array.of(0x85), 3000), { afterId: 5, skip: 3000 - STRIDE })
})
