import fc from 'fast-check'
import t from 'tap'
import { parseExact } from '../../../src/json/exact-json.js'
import { isFault } from '../../../src/storage/columns/column-type.js'
import {
  decimalSortKey,
  decimalType,
  MAX_DECIMAL_DIGITS,
  plainDecimal,
} from '../../../src/storage/columns/decimal-type.js'
import { JSON_TYPE } from '../../../src/storage/columns/json-type.js'

const ENV = { timeZoneMin: 0, nowUs: 0n }
const RULES = { length: null, srid: null }
const ANY = decimalType(null, null)
const read = (json: unknown, type = ANY) => {
  const value = type.read(json, RULES, ENV)
  return isFault(value) ? `refused: ${value.expected}` : value
}

t.test('decimal: digits are kept exactly, zeros at the end of the fraction too', async (t) => {
  const cases: [unknown, string][] = [
    [0, '0'],
    [-0, '0'],
    [1, '1'],
    [1.5, '1.5'],
    ['1.50', '1.50'],
    ['+007', '7'],
    ['-0.00', '0.00'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['1e3', '1000'],
    ['1.5e3', '1500'],
    ['1.25e1', '12.5'],
    ['1.2500e1', '12.500'],
    ['12e-1', '1.2'],
    ['1.5E-3', '0.0015'],
    [1e-7, '0.0000001'],
    [9007199254740991, '9007199254740991'],
    [' 12 ', '12'],
    ['nan', 'NaN'],
    ['-infinity', '-Infinity'],
    ['123456789012345678901234567890.123456789', '123456789012345678901234567890.123456789'],
  ]
  for (const [given, kept] of cases) t.equal(read(given), kept, String(given))
})

t.test('decimal: what is no number, or may have lost digits on its way, is refused', async (t) => {
  const bad = [
    '',
    'x',
    '1.2.3',
    '1e',
    '0x10',
    '--1',
    true,
    [],
    {},
    2 ** 53,
    1e300,
    Infinity,
    `1${'0'.repeat(MAX_DECIMAL_DIGITS)}`,
    '1e1000',
    '1e-1000',
    '1e9999999',
  ]
  for (const given of bad) t.match(read(given), /^refused/, String(given).slice(0, 40))
})

t.test(
  'decimal: numeric(p,s) rounds half away from zero and bounds the digits before the point',
  async (t) => {
    const money = decimalType(5, 2)
    for (const [given, kept] of [
      ['1', '1.00'],
      ['1.005', '1.01'],
      ['-1.005', '-1.01'],
      ['999.994', '999.99'],
      ['-0.004', '0.00'],
      ['0.995', '1.00'],
      ['NaN', 'NaN'],
    ]) {
      t.equal(read(given, money), kept)
    }
    t.equal(read('1234.5', decimalType(4, 0)), '1235')
    t.equal(read(`${'9'.repeat(900)}.25`, decimalType(null, 1)), `${'9'.repeat(900)}.3`, 'any precision')
    t.match(read('9'.repeat(400), money), /at most 3 digits before the point/, 'beyond the range of a double')
    for (const given of ['1000', '999.995', '-1000'])
      t.match(read(given, money), /at most 3 digits before the point/)
  },
)

t.test('decimal: printed as a number when a double prints the same text', async (t) => {
  const print = (text: string) => ANY.print(text, ENV)
  t.strictSame(['1.5', '1.50', '0.1', '9007199254740993', '1e3', 'NaN', '-Infinity'].map(print), [
    1.5,
    '1.50',
    0.1,
    '9007199254740993',
    '1e3',
    'NaN',
    '-Infinity',
  ])
})

t.test('property: decimals sort by value, and equal values have equal keys', async (t) => {
  const digits = (max: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max })
  const decimal = fc
    .tuple(fc.boolean(), digits(12), fc.option(digits(8), { nil: undefined }))
    .map(
      ([isNegative, whole, fraction]) =>
        read(`${isNegative ? '-' : ''}${whole}${fraction === undefined ? '' : `.${fraction}`}`) as string,
    )
  const scaled = (text: string) => {
    const [whole = '', fraction = ''] = text.replace('-', '').split('.')
    return BigInt(whole + fraction.padEnd(8, '0')) * (text.startsWith('-') ? -1n : 1n)
  }
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      const [x, y] = [scaled(a), scaled(b)]
      const [p, q] = [decimalSortKey(a), decimalSortKey(b)]
      if (x === y) return p === q && plainDecimal(a) === plainDecimal(b)
      return (
        x < y === Buffer.compare(Buffer.from(p), Buffer.from(q)) < 0 && plainDecimal(a) !== plainDecimal(b)
      )
    }),
    { numRuns: 2000 },
  )
  const ends = ['-Infinity', '-1', '0', '1e-999', '1', `9${'0'.repeat(900)}`, 'Infinity', 'NaN'].map((text) =>
    decimalSortKey(read(text) as string),
  )
  t.same(ends.toSorted(), ends)
})

t.test('json: any value, with numbers as supplied', async (t) => {
  for (const value of [1, 'text', true, [], { a: [null, { b: '𝄞' }] }]) {
    const stored = JSON_TYPE.read(value, RULES, ENV)
    t.same(JSON_TYPE.print(stored as string, ENV), value)
  }
  const text = '{"a":[1.0,1e400,1234567890123456789],"__proto__":{"b":-0}}'
  const stored = JSON_TYPE.read(parseExact(text), RULES, ENV)
  t.equal(stored, text, 'numbers are kept as supplied')
  t.equal(JSON.stringify(JSON_TYPE.print(stored as string, ENV)), text)
})
