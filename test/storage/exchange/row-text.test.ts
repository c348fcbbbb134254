import fc from 'fast-check'
import t from 'tap'
import type { Stored } from '../../../src/storage/columns/column-type.js'
import { writeRowText } from '../../../src/storage/exchange/row-text.js'

/** The text by another way. */
function plainText(slots: readonly number[], values: readonly Stored[]): string {
  const texts = slots.map((slot) => {
    const value = values[slot]
    if (typeof value === 'bigint') return `${value}`
    return JSON.stringify(value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)
  })
  return `[${texts.join(',')}]`
}

const written = (slots: readonly number[], values: readonly Stored[]) => {
  const text = writeRowText(slots, values)
  return text === undefined ? undefined : Buffer.from(text).toString()
}

t.test('row text: numbers at the ends of what 8 digits, 32 and 53 bits hold', async (t) => {
  const ends = [0, 9, 10, 99_999_999, 100_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53]
  for (const end of ends.flatMap((n) => [n, -n || 0]))
    for (const value of [end, BigInt(end)]) t.equal(written([0], [value]), `[${value}]`)
  for (const value of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n - 1n, 1n - 2n ** 53n])
    t.equal(written([0], [value]), `[${value}]`)
  t.equal(written([0, 1, 2], [-0, 1.5, 1e300]), '[0,1.5,1e+300]')
  t.equal(written([0], [1_000_000_000_000_007]), '[1000000000000007]', 'zeros within')
})

t.test(
  'row text: undefined for a row that may be longer than the memory, and no trace of it after',
  async (t) => {
    t.equal(written([0], ['x'.repeat(3000)]), undefined)
    t.equal(written([0, 1], [1, new Uint8Array(9000)]), undefined)
    t.equal(written([0], ['x'.repeat(2700)]), `["${'x'.repeat(2700)}"]`)
    t.equal(written([0], [null]), '[null]')
  },
)

t.test('property: a row text is the JSON of its values', async () => {
  const value: fc.Arbitrary<Stored> = fc.oneof(
    ...[
      fc.constant(null),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    ],
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    ...[fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.uint8Array()],
  )
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), (values) => {
      const slots = values.map((_, slot) => values.length - 1 - slot)
      const text = written(slots, values)
      if (text !== plainText(slots, values)) throw new Error(`found ${text}`)
    }),
    { numRuns: 500 },
  )
})
