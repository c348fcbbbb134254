import t from 'tap'
import { z } from 'zod'
import { parseSafe } from '../../src/json/exact-json.js'
import { checkValue, describeFound } from '../../src/messages/fault-text.js'

const Item = z.strictObject({ id: z.int().min(1).max(10) })

/** Schema, value, and the faults as `path: message`. */
const TABLE: [z.ZodType, unknown, string[]][] = [
  [z.string(), undefined, [': found nothing, expected a string']],
  [z.string().max(3), 'abcd', [': found 4 characters, expected at most 3']],
  [z.string().min(1), '', [': found 0 characters, expected at least 1']],
  [z.string().length(2), 'a', [': found 1 character, expected exactly 2']],
  [z.int().min(0).max(5), 1.5, [': found 1.5, expected a whole number from 0 to 5']],
  [z.int().min(0).max(5), 6, [': found 6, expected a whole number from 0 to 5']],
  [z.int().min(0), 'x', [': found "x", expected a whole number of at least 0']],
  [z.number().max(9), null, [': found null, expected a number of at most 9']],
  [z.number().gt(0), 0, [': found 0, expected a number above 0']],
  [z.number().lt(9), 9, [': found 9, expected a number below 9']],
  [z.number().gt(0).max(9), 'x', [': found "x", expected a number above 0 and of at most 9']],
  [z.int(), 2 ** 53, [': found 9007199254740992, expected a whole number within ±9007199254740991']],
  [z.number().multipleOf(2), 3, [': found 3, expected a multiple of 2']],
  [z.int(), parseSafe('9007199254740993'), [': found 9007199254740993, expected a whole number']],
  [z.number(), parseSafe('1e400'), [': found 1e400, expected a number']],
  [z.boolean(), 1, [': found 1, expected true or false']],
  [z.array(z.int()).min(2), [1], [': found 1 item, expected at least 2']],
  [z.array(z.int()), {}, [': found an object, expected an array']],
  [z.tuple([z.int()]), 7, [': found 7, expected an array']],
  [z.record(z.string(), z.int()), [1, 2], [': found an array of 2, expected an object']],
  [z.enum(['flood', 'snow']), 'snwo', [': found "snwo", expected one of "snow", "flood"']],
  [z.literal('Feature'), 'Point', [': found "Point", expected "Feature"']],
  [z.null(), 1, [': found 1, expected null']],
  [z.uuid(), 'x', [': found "x", expected a UUID']],
  [z.url(), 'x', [': found "x", expected a URL']],
  [z.email(), 'x', [': found "x", expected text in the format email']],
  [z.string().regex(/a/), 'b', [': found "b", expected text of another form']],
  [z.string().regex(/a/, 'expected an a'), 'b', [': found "b", expected an a']],
  [z.string().refine(() => false, 'no room'), 'b', [': no room']],
  [z.bigint(), 'b', [': found "b", expected a value of type bigint']],
  [z.union([z.string(), z.array(z.string())]), 5, [': found 5, expected a string or an array']],
  [z.union([z.string(), Item]), { id: 11 }, ['id: found 11, expected a whole number from 1 to 10']],
  [z.record(z.string().max(1), z.int()), { ab: 1 }, ['ab: found "ab", expected another name']],
  [z.strictObject({}), { a: 1 }, [': found the unknown key "a", expected an empty object']],
  [
    z.strictObject({ name: z.string(), idle: z.int() }),
    { nam: 'x', idle: 'y' },
    [
      'name: found nothing, expected a string',
      'idle: found "y", expected a whole number',
      ': found the unknown key "nam", expected only name, idle',
    ],
  ],
  [
    Item,
    { id: 1, a: 1, b: 2, c: 3, d: 4 },
    [': found the unknown keys "a", "b", "c" and 1 more, expected only id'],
  ],
  [z.array(Item), [{ id: 1 }, { id: 0 }], ['1.id: found 0, expected a whole number from 1 to 10']],
]

t.test('checkValue: what was found, what was expected, and where', async (t) => {
  for (const [schema, value, expected] of TABLE) {
    const checked = checkValue(schema, value)
    const faults = 'faults' in checked ? checked.faults : []
    t.same(
      faults.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`),
      expected,
    )
  }
})

t.test('checkValue: the value as the schema transforms it', async (t) => {
  t.same(checkValue(z.string().transform(Number), '5'), { data: 5 })
})

t.test('checkValue: at most 100 faults are listed, all are counted', async (t) => {
  const checked = checkValue(z.array(z.int()), Array(500).fill('x'))
  t.match(checked, { count: 500, faults: { length: 100 } })
})

t.test('describeFound: a found value in a few words', async (t) => {
  const table: [unknown, string][] = [
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an array of 0'],
    [{}, 'an object'],
    ['', '""'],
    ['a"b', '"a\\"b"'],
    ['x'.repeat(41), `"${'x'.repeat(40)}…"`],
    [`${'x'.repeat(39)}😀`, `"${'x'.repeat(39)}…"`],
    [0, '0'],
    [false, 'false'],
    [7n, '7'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [parseSafe('1'.repeat(60)), `${'1'.repeat(40)}…`],
  ]
  for (const [value, text] of table) t.equal(describeFound(value), text)
})
