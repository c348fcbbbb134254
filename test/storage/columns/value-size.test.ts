import t from 'tap'
import { sizeFault } from '../../../src/storage/columns/value-size.js'

const nameOf = (slot: number) => `c${slot}`

t.test('value size: bytes of UTF-8 and of bytes count, numbers do not', async (t) => {
  t.equal(sizeFault(['あ'.repeat(3), new Uint8Array(1), 5, null, undefined, 7n], nameOf, 10), undefined)
  t.same(sizeFault(['x', 'あ'.repeat(4)], nameOf, 10), {
    column: 'c1',
    reason: 'found 12 bytes, expected at most 10 (limits.valueBytes)',
  })
})

t.test('value size: values that are too large only together name no column', async (t) => {
  t.same(sizeFault(['x'.repeat(6), new Uint8Array(6)], nameOf, 10), {
    column: null,
    reason: 'found 12 bytes in all values of the record, expected at most 10 (limits.valueBytes)',
  })
})
