import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../src/errors.js'
import { readJson } from '../../src/rpc/read-json.js'

const utf8 = (text: string) => new TextEncoder().encode(text)

function errorOf(bytes: Uint8Array, maxDepth = 64): string {
  try {
    readJson(bytes, maxDepth)
    return 'none'
  } catch (error) {
    return isAppError(error) ? error.errorName : String(error)
  }
}

t.test('property: readJson reads what JSON.stringify writes', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value)
      const again = JSON.stringify(readJson(utf8(text), 64))
      return again === text
    }),
    { numRuns: 300 },
  )
})

t.test('property: readJson throws nothing but its own two errors, whatever the bytes', async () => {
  const nearJson = fc.array(
    fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', 'a', '\\ud800', 'é', 'null', ' '),
  )
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    nearJson.map((parts) => utf8(parts.join(''))),
  )
  fc.assert(
    fc.property(anything, (bytes) => ['none', 'PARSE_ERROR', 'INVALID_REQUEST'].includes(errorOf(bytes, 5))),
    { numRuns: 1000 },
  )
})

t.test('property: readJson counts levels as a parser would', async () => {
  const nested = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>(1, '[{"', '\\"]', null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', '[', '}"', '\\'), tie('value'), { maxKeys: 3 }),
    ),
  })).value
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  fc.assert(
    fc.property(nested, fc.integer({ min: 1, max: 6 }), (value, maxDepth) => {
      const isRefused = errorOf(utf8(JSON.stringify(value)), maxDepth) === 'INVALID_REQUEST'
      return isRefused === depthOf(value) > maxDepth
    }),
    { numRuns: 500 },
  )
})

t.test('readJson: __proto__ is a name like any other and sets no prototype', async (t) => {
  const value = readJson(utf8('{"__proto__":{"isAdmin":true}}'), 64) as Record<string, unknown>
  t.ok(Object.hasOwn(value, '__proto__'))
  t.equal(Object.getPrototypeOf(value), Object.prototype)
  t.equal(value.isAdmin, undefined)
  t.equal(({} as Record<string, unknown>).isAdmin, undefined)
})

t.test('readJson: numbers at the edge of double', async (t) => {
  t.equal(readJson(utf8('1e400'), 64), Infinity, 'refused by every schema')
  t.equal(readJson(utf8('-1e400'), 64), -Infinity)
  t.equal(readJson(utf8('1e-400'), 64), 0)
  t.equal(readJson(utf8('1.7976931348623157e308'), 64), Number.MAX_VALUE)
})

t.test('readJson: a lone surrogate is refused wherever it stands, a pair is not', async (t) => {
  const refused = [
    '"\\ud800"',
    '["\\uDFFF"]',
    '{"a":{"b":["x","\\udc00"]}}',
    '{"\\ud800":1}',
    '"\\ud83d\\ud83d"',
  ]
  for (const text of refused) t.equal(errorOf(utf8(text)), 'INVALID_REQUEST', text)
  for (const text of ['"\\ud83d\\ude00"', '"\\u0041"', '"\\\\ud800"'])
    t.equal(errorOf(utf8(text)), 'none', text)
})
