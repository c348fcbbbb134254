import fc from 'fast-check'
import t from 'tap'
import { parseExact } from '../../src/json/exact-json.js'
import { jsonPieces } from '../../src/json/json-pieces.js'

const textOf = (value: unknown) => [...jsonPieces(value)].join('')

t.test('jsonPieces: the text is that of JSON.stringify', async (t) => {
  fc.assert(fc.property(fc.jsonValue(), (value) => textOf(value) === JSON.stringify(value)))
  const values = [
    [undefined, null, () => 1, Number.NaN, -0],
    { a: undefined, b: [], c: {}, d: '', ['__proto__']: 1 },
    new Date(0),
    { at: new Date(0), list: [new Date(0)] },
    parseExact('{"n":[1.0,1e400,{"m":12345678901234567890}]}'),
  ]
  for (const value of values) t.equal(textOf(value), JSON.stringify(value))
  t.equal(textOf(undefined), 'null')
})

t.test('jsonPieces: no piece of a long value is long, and its text is the same', async (t) => {
  const high = '\ud83d'
  const low = '\ude00'
  const ring = Array.from({ length: 100_000 }, (_, i) => [139 + i / 1e6, 35.5])
  const values: Record<string, unknown> = {
    text: '"\n€'.repeat(500_000),
    'pairs at each border': `a${(high + low).repeat(400_000)}`,
    'lone surrogates': (high + high + low + low).repeat(200_000),
    'a border after a lone one': `${'a'.repeat(64 * 1024 - 1)}${high}`,
    line: { type: 'LineString', coordinates: ring },
    polygon: { type: 'Polygon', coordinates: [ring, ring.slice(0, 10)] },
    'as long as a run': Array.from({ length: 2048 }, (_, i) => i),
    'short and long in turns': Array.from({ length: 5000 }, (_, i) => (i % 3 === 0 ? { i } : i)),
    record: { id: 1, note: 'x'.repeat(1_000_000), more: { deep: ['y'.repeat(200_000)] } },
  }
  for (const [name, value] of Object.entries(values)) {
    const pieces = [...jsonPieces(value)]
    t.equal(pieces.join('') === JSON.stringify(value), true, name)
    t.ok(
      pieces.every(({ length }) => length <= 6 * 64 * 1024 + 6),
      name,
    )
  }
})
