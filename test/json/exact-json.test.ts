import fc from 'fast-check'
import t from 'tap'
import {
  isRawNumber,
  parseExact,
  parseExactInSlices,
  parseSafe,
  withDoubles,
} from '../../src/json/exact-json.js'

/** Numbers that a double prints otherwise. */
const INEXACT = [
  ...['1234567890123456789', '1e400', '-1E400', '1.0', '-0', '-0.0', '1e5', '1.50', '0.10', '0.0000001'],
  ...['9007199254740993', '100000000000000000000000', '0.1234567890123456789', '1E+2', '12.0e3'],
]
const EXACT = ['0', '-1', '0.1', '0.30000000000000004', '1e+21', '5e-324', '9007199254740991', '1e-7']

t.test('parseExact: every number keeps its text, wherever it is', async (t) => {
  for (const text of [...INEXACT, ...EXACT]) {
    for (const whole of [text, `[${text}]`, `{"a":${text}}`, `[1,${text},"${text}",{"b":[${text},"x"]}]`])
      t.equal(JSON.stringify(parseExact(whole)), whole, whole)
    t.equal(isRawNumber(parseExact(text)), INEXACT.includes(text), text)
  }
})

t.test('parseSafe: only numbers that a double falsifies are kept', async (t) => {
  const falsified = ['1234567890123456789', '1e400', '-1E400', '9007199254740993', '-9007199254740992']
  for (const text of [...falsified, '100000000000000000000000'])
    for (const whole of [text, `[${text}]`, `{"a":1.0,"b": ${text}}`])
      t.equal(JSON.stringify(parseSafe(whole)), whole.replace('1.0', '1').replace(': ', ':'), whole)
  for (const text of ['1.0', '1e5', '0.12345678901234567890', '9007199254740991', '1e21'])
    t.equal(parseSafe(text), Number(text), text)
})

t.test('parseSafe: more numbers than a caller may have kept are refused', async (t) => {
  const many = (count: number) => `[${'1e400,'.repeat(count - 1)}1e400]`
  t.equal((parseSafe(many(50_000)) as unknown[]).length, 50_000)
  t.throws(() => parseSafe(many(50_001)), {
    errorName: 'INVALID_REQUEST',
    message:
      /^Found more than 50000 integers beyond 2\^53 or numbers beyond a double, expected them in strings$/,
  })
})

t.test('parseExact: strings with digits, quotes and backslashes stay', async (t) => {
  const odd = { 'a 1.0': '2.0 \\ " 3.0', 'b\\': '1.0', c: '\u00e9 "1.50"' }
  const text = `[1.0,${JSON.stringify(odd)},1.50]`
  t.equal(JSON.stringify(parseExact(text)), text)
})

t.test('parseExact: __proto__ is an own property', async (t) => {
  const text = '{"__proto__":{"isAdmin":1.0},"a":1.0}'
  const value = parseExact(text) as Record<string, unknown>
  t.equal(JSON.stringify(value), text)
  t.equal(value.isAdmin, undefined)
  t.equal(JSON.stringify(withDoubles(value)), '{"__proto__":{"isAdmin":1},"a":1}')
})

t.test('isRawNumber: an object of a caller is none', async (t) => {
  t.notOk(isRawNumber(JSON.parse('{"rawJSON":"1.0"}')))
  t.notOk(isRawNumber(1))
})

t.test(
  'withDoubles: numbers become doubles, except falsified ones and those of the kept member',
  async (t) => {
    const value = parseExact('{"round":1.0,"big":9007199254740993,"meta":{"x":1.0},"list":[2.0]}')
    t.equal(
      JSON.stringify(withDoubles(value, 'meta')),
      '{"round":1,"big":9007199254740993,"meta":{"x":1.0},"list":[2]}',
    )
    t.equal(JSON.stringify(value).includes('"round":1.0'), true, 'the value itself is as it was')
    for (const text of ['1.0', '1e400', '9007199254740993']) {
      const { meta } = withDoubles(parseExact(`{"meta":${text}}`), 'meta') as { meta: unknown }
      t.equal(meta, Number(text), `${text} in place of an object`)
    }
  },
)

t.test('property: parseExact prints what it read, and is JSON.parse where doubles are exact', async () => {
  const number = fc.oneof(
    fc.constantFrom(...INEXACT, ...EXACT),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.tuple(fc.bigInt(), fc.nat()).map(([whole, fraction]) => `${whole}.${fraction}`),
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      number,
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
      fc.constantFrom('null', 'true'),
      fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc
        .uniqueArray(fc.tuple(fc.string({ minLength: 1 }), tie('value') as fc.Arbitrary<string>), {
          maxLength: 4,
          selector: ([key]) => key,
        })
        .filter((members) => members.every(([key]) => !/^\d/.test(key)))
        .map((members) => `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`),
    ),
  }))
  fc.assert(
    fc.property(value as fc.Arbitrary<string>, (text) => {
      const same = JSON.stringify(parseExact(text)) === text
      const doubles =
        JSON.stringify(JSON.parse(JSON.stringify(parseSafe(text)))) === JSON.stringify(JSON.parse(text))
      return same && doubles
    }),
    { numRuns: 2000 },
  )
})

/** What V8 makes of each number when it shows its source. */
function withReviver(text: string): unknown {
  const json = JSON as unknown as {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
    rawJSON(source: string): unknown
  }
  return json.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && String(value) !== source ? json.rawJSON(source) : value,
  )
}

/** Values with raw numbers in a form that shows where they are. */
function shown(value: unknown): unknown {
  if (isRawNumber(value)) return { raw: value.rawJSON }
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).map(([key, member]) => [key, shown(member)])
}

t.test('property: parseExact keeps the numbers that a reviver would keep', async (t) => {
  const digits = fc.stringMatching(/^\d{1,20}$/).map((text) => text.replace(/^0+(?=\d)/, ''))
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.option(fc.stringMatching(/^[01]{0,9}\d{1,12}$/), { nil: '' }),
      fc.constantFrom('', 'e2', 'E-7', 'e+21'),
    )
    .map(
      ([sign, whole, fraction, power]) => `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${power}`,
    )
  const space = fc.constantFrom('', ' ', '\n\t')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      number,
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
      fc.constantFrom('true', 'false', 'null', '"1.0"', '"\\\\"', '"\\u0031.0\\""'),
      fc
        .tuple(fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 4 }), space)
        .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
      fc
        .tuple(
          fc.array(
            fc.tuple(
              fc.constantFrom('a', 'a', 'b', '1', '__proto__x', 'c "'),
              tie('value') as fc.Arbitrary<string>,
            ),
            { maxLength: 5 },
          ),
          space,
        )
        .map(
          ([members, gap]) =>
            `{${members.map(([key, text]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${text}`).join(',')}${gap}}`,
        ),
    ),
  }))
  await fc.assert(
    fc.asyncProperty(value as fc.Arbitrary<string>, async (text) => {
      const expected = JSON.stringify(shown(withReviver(text)))
      const isSame = JSON.stringify(shown(parseExact(text))) === expected
      return isSame && JSON.stringify(shown(await parseExactInSlices(text))) === expected
    }),
    { numRuns: 3000 },
  )
  t.same(shown(parseExact('{"__proto__":1.0,"__proto__":{"x":2.0}}')), [
    ['__proto__', [['x', { raw: '2.0' }]]],
  ])
})

t.test('parseExactInSlices: others have their turn while a large text is read', async (t) => {
  const text = `[${'1.0,'.repeat(100_000)}1.0]`
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const value = (await parseExactInSlices(text)) as unknown[]
  clearInterval(timer)
  t.equal(value.length, 100_001)
  t.ok(value.every(isRawNumber))
  t.ok(turns > 3, `${turns} turns`)
})
