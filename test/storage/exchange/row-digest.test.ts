import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  addDigest,
  addSum,
  createRowDigest,
  noRows,
  readSum,
  sumBytes,
  sumHex,
  takeDigest,
} from '../../../src/storage/exchange/row-digest.js'
import { columnOf } from '../../support/tables.js'

const COLUMNS = ['b', 'a', 'c'].map((name) => columnOf({ name }))
const BASE = 1n << 256n

/** The same sum by another way. */
function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

t.test('row digest: columns by name, values as they are described', async (t) => {
  const digest = createRowDigest(COLUMNS)
  const hex = (values: Parameters<typeof digest>[0]) => Buffer.from(digest(values), 'latin1').toString('hex')
  const expected = (text: string) => createHash('sha256').update(text).digest('hex')
  t.equal(hex(['x"y', 1.5, null]), expected('[1.5,"x\\"y",null]'))
  t.equal(hex([Buffer.from([1, 255]), 7n, -0]), expected('[7,"01ff",0]'))
  t.equal(hex(['é', 1e21, 2n ** 63n - 1n]), expected('[1e+21,"é",9223372036854775807]'))
  t.equal(hex([5, 5, 5]), hex([5n, 5n, 5n]), 'as written and as read')
  t.equal(createRowDigest(COLUMNS, ['c', 'a'])([1, 2, 3]), createRowDigest(COLUMNS.slice(1))([2, 3]))
})

t.test('row digest: sums are those of big integers, whatever the order', async () => {
  const digest = createRowDigest([columnOf({ name: 'a' })])
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer(), fc.boolean()), { maxLength: 30 }), (steps) => {
      const sum = noRows()
      let rows = 0
      let expected = 0n
      for (const [value, isTaken] of steps) {
        const text = digest([value])
        const number = toBigInt(Buffer.from(text, 'latin1'))
        expected = (expected + (isTaken ? BASE - number : number)) % BASE
        rows += isTaken ? -1 : 1
        if (isTaken) takeDigest(sum, text)
        else addDigest(sum, text)
      }
      const stored = readSum(sum.rows, sumBytes(sum))
      addSum(stored, noRows())
      if (stored.rows !== rows || toBigInt(Buffer.from(sumHex(stored), 'hex')) !== expected)
        throw new Error('another sum')
    }),
    { numRuns: 300 },
  )
})
