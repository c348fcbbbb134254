import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../src/errors.js'
import { isRawNumber } from '../../src/json/exact-json.js'
import { readJson, readJsonInTurn } from '../../src/rpc/read-json.js'
import { throwsWith } from '../support/throws.js'

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
  for (const text of ['1e400', '-1e400', '9007199254740993', '-9007199254740992']) {
    const value = readJson(utf8(text), 64)
    t.ok(isRawNumber(value), `${text} is kept, and refused by schemas with its digits`)
    t.equal(JSON.stringify(value), text)
  }
  t.equal(readJson(utf8('9007199254740991'), 64), Number.MAX_SAFE_INTEGER)
  t.equal(readJson(utf8('1e-400'), 64), 0)
  t.equal(readJson(utf8('1.7976931348623157e308'), 64), Number.MAX_VALUE)
})

t.test('readJson: refuses a lone surrogate at any place, accepts a pair', async (t) => {
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

t.test(
  'readJson: text that is not JSON is PARSE_ERROR with the reason of the parser, in short',
  async (t) => {
    for (const text of ['', '{', '[1,]', 'undefined', "{'a':1}", '1 2', '"\n"', '{"a":}']) {
      t.equal(errorOf(utf8(text)), 'PARSE_ERROR', text)
    }
    const { message } = throwsWith(t, () => readJson(utf8(`{"${'x'.repeat(5000)}`), 64), 'PARSE_ERROR')
    t.match(message, /^The body is not valid JSON: ./)
    t.ok(message.length < 250)
  },
)

t.test('readJson: bytes that are not UTF-8 are PARSE_ERROR', async (t) => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc3, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ]) {
    t.match(throwsWith(t, () => readJson(new Uint8Array(bytes), 64), 'PARSE_ERROR').message, /UTF-8/)
  }
})

t.test('readJson: a byte order mark is skipped, also inside a larger buffer', async (t) => {
  const bytes = Uint8Array.from([0x5b, 0x5b, 0x5b, 0xef, 0xbb, 0xbf, ...utf8('{"a":1}'), 0x5d, 0x5d, 0x5d])
  t.same(readJson(bytes.subarray(3, -3), 64), { a: 1 })
  t.same(readJson(bytes.subarray(6, -3), 64), { a: 1 })
  t.equal(errorOf(Uint8Array.from([0xef, 0xbb])), 'PARSE_ERROR')
  for (const start of [
    [0xef, 0xbb, 0xbc],
    [0xef, 0xbc, 0xbf],
    [0xee, 0xbb, 0xbf],
  ]) {
    t.equal(errorOf(Uint8Array.from([...start, 0x31])), 'PARSE_ERROR', 'another character is not skipped')
  }
})

t.test('readJson: the message of too deep a body has the byte and the limit', async (t) => {
  const { data, message } = throwsWith(t, () => readJson(utf8('[[1],[[]]]'), 2), 'INVALID_REQUEST')
  t.equal(message, 'Found brackets 3 deep at byte 6, expected at most 2')
  t.same(data, { maxDepth: 2 })
  t.equal(errorOf(utf8('[[1],[2]]'), 2), 'none')
})

t.test('readJson: a lone surrogate is refused with its path', async (t) => {
  const table: [text: string, path: string][] = [
    ['"\\ud800"', '$'],
    ['[null,1,true,{"a":[0,"\\udc00"]}]', '$[3].a[1]'],
    ['{"good":null,"bad\\ud800":1}', '$ (a key)'],
    ['{"a":{"\\ud800":1}}', '$.a (a key)'],
  ]
  for (const [text, path] of table) {
    const { data, message } = throwsWith(t, () => readJson(utf8(text), 64), 'INVALID_REQUEST')
    t.same(data, { path })
    t.equal(message, `Found a lone surrogate at ${path}, expected well-formed Unicode`)
  }
  const mixed = '{"\\ud83d\\ude00":[null,{"a":null},7,"\\ud83d\\ude00"]}'
  t.same(readJson(utf8(mixed), 64), { '😀': [null, { a: null }, 7, '😀'] })
})

t.test('readJsonInTurn: large bodies are read one at a time, and small ones between them', async (t) => {
  const large = utf8(JSON.stringify({ text: 'x'.repeat(300_000) }))
  const order: string[] = []
  const note = (name: string) => () => order.push(name)
  const first = readJsonInTurn(large, 64).then(note('first'))
  const broken = readJsonInTurn(utf8(`[${' '.repeat(300_000)}`), 64).catch(note('broken'))
  const last = readJsonInTurn(large, 64).then(note('last'))
  const small = readJsonInTurn(utf8('[1]'), 64).then(note('small'))
  const turn = new Promise<void>((resolve) => setImmediate(resolve)).then(note('turn'))
  await Promise.all([first, broken, last, small, turn])
  t.same(order, ['small', 'turn', 'first', 'broken', 'last'])
})
