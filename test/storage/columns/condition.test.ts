import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import { typeOf, type UdtName } from '../../../src/storage/columns/column-types.js'
import {
  type ConditionColumn,
  parseCondition,
  requiredArea,
  requiredTerms,
  requiredValue,
} from '../../../src/storage/columns/condition.js'
import { decimalType } from '../../../src/storage/columns/decimal-type.js'

const columnTypes: [string, UdtName][] = [
  ['n', 'int4'],
  ['name', 'text'],
  ['hour', 'timetz'],
  ['raw', 'bytea'],
  ['place', 'geometry'],
  ['other', 'geometry'],
]
const parsed = new Map(
  columnTypes.map(([name, udtName]): [string, ConditionColumn] => [
    name,
    { type: typeOf(udtName), isEncrypted: false, srid: udtName === 'geometry' ? 4326 : null },
  ]),
)
parsed.set('price', { type: decimalType(null, null), isEncrypted: false, srid: null })
const parse = (conds: unknown, columns: ReadonlyMap<string, ConditionColumn> = parsed) =>
  parseCondition(conds, { columns, env: { timeZoneMin: 0, nowUs: 0n } }, '$')
const point = { type: 'Point', coordinates: [1, 2] }

/** `data` of the refusal of a condition. */
function refusalOf(
  conds: unknown,
  columns = parsed,
): { path?: unknown; found?: unknown; expected?: unknown } {
  try {
    parse(conds, columns)
  } catch (error) {
    if (isAppError(error)) return error.data
  }
  return {}
}

t.test('requiredTerms: terms at the top and within `and`, not those of `or` and `not`', async (t) => {
  const operators = (conds: unknown) =>
    requiredTerms(parse(conds)).map((term) => (term.kind === 'compare' ? term.operator : term.kind))
  const both = [{ '<': ['n', 1] }, { is_null: ['name'] }]
  t.same(operators({}), [])
  t.same(operators({ '<': ['n', 1] }), ['<'])
  t.same(operators({ and: both }), ['<', 'is_null'])
  t.same(operators({ and: [{ and: both }, { like: ['name', 'a'] }] }), ['<', 'is_null', 'like'])
  t.same(operators({ or: both }), [])
  t.same(operators({ or: [{ '<': ['n', 1] }] }), [])
  t.same(operators({ not: { '<': ['n', 1] } }), [])
  t.same(operators({ not: { and: both } }), [])
  t.same(operators({ and: [{ or: both }, { not: { '>': ['n', 1] } }, { '=': ['n', 1] }] }), ['='])
})

t.test('requiredArea: the first area of the column that every match touches', async (t) => {
  for (const operator of ['intersects', 'within']) {
    const condition = parse({ and: [{ '=': ['n', 1] }, { [operator]: ['place', point] }] })
    const [, term] = requiredTerms(condition)
    t.equal(
      requiredArea(condition, 'place'),
      term !== undefined && 'area' in term ? term.area : null,
      operator,
    )
    t.equal(requiredArea(condition, 'other'), undefined)
  }
  t.equal(requiredArea(parse({ or: [{ within: ['place', point] }, { '=': ['n', 1] }] }), 'place'), undefined)
  t.equal(requiredArea(parse({ not: { within: ['place', point] } }), 'place'), undefined)
  t.equal(requiredArea(parse({ is_null: ['place'] }), 'place'), undefined)
  t.equal(requiredArea(parse({}), 'place'), undefined)
  const behind = parse({ and: [{ is_null: ['place'] }, { within: ['place', point] }] })
  t.not(requiredArea(behind, 'place'), undefined, 'a term of the column that names no area is passed over')
})

t.test('requiredValue: the last value that a column must equal', async (t) => {
  const value = (conds: unknown, column = 'n') => requiredValue(parse(conds), column)
  t.equal(value({ '=': ['n', 5] }), 5)
  t.equal(value({ '==': ['n', 5] }), 5)
  t.equal(value({ and: [{ '=': ['n', 5] }, { '=': ['name', 'x'] }, { '=': ['n', 6] }] }), 6)
  t.equal(value({ '=': ['name', 'x'] }, 'name'), 'x')
  for (const conds of [
    { '<>': ['n', 5] },
    { '<=': ['n', 5] },
    { in: ['n', [5]] },
    { between: ['n', 5, 5] },
    { or: [{ '=': ['n', 5] }] },
    { not: { '=': ['n', 5] } },
    { '=': ['name', '5'] },
    {},
  ]) {
    t.equal(value(conds), undefined, JSON.stringify(conds))
  }
})

t.test('parseCondition: like takes columns of characters alone', async (t) => {
  t.match(parse({ like: ['name', 'a%'] }), { kind: 'like', pattern: 'a%', column: { name: 'name' } })
  for (const column of ['n', 'hour', 'price', 'raw'])
    t.match(refusalOf({ like: [column, 'a%'] }), { path: '$["like"][0]', expected: 'a text column' }, column)
})

t.test('parseCondition: a pattern has at most 10,000 characters and no backslash at its end', async (t) => {
  t.match(parse({ like: ['name', 'x'.repeat(10_000)] }), { kind: 'like' })
  for (const pattern of ['', '\\\\', 'a\\\\', '\\%', 'a\\b', '\\\\\\_', '\\\n', '\\ \n'])
    t.match(parse({ like: ['name', pattern] }), { pattern }, JSON.stringify(pattern))
  for (const pattern of ['\\', 'ab\\', 'a\n\\', '\\\\\\', '\\a\\', '\\ \\', '\\\n\\', 'abc\\\\d\\'])
    t.match(refusalOf({ like: ['name', pattern] }), { path: '$["like"][1]' }, JSON.stringify(pattern))
})

t.test('parseCondition: values that are too many for their operator are refused', async (t) => {
  for (const [conds, path] of [
    [{ like: ['name', 'a', 'b'] }, '$["like"]'],
    [{ intersects: ['place', point, point] }, '$["intersects"]'],
    [{ within: ['place'] }, '$["within"]'],
    [{ in: ['n', [1], [2]] }, '$["in"]'],
  ] as const) {
    t.match(refusalOf(conds), { path, expected: '1' }, path)
  }
})

t.test('parseCondition: a refusal quotes little of the caller and names at most 20 columns', async (t) => {
  t.equal(refusalOf({ ['x'.repeat(5000)]: ['n', 1] }).path, `$["${'x'.repeat(40)}"]`)
  const many = new Map(
    Array.from({ length: 25 }, (_, i): [string, ConditionColumn] => [
      `c${i}`,
      { type: typeOf('int4'), isEncrypted: false, srid: null },
    ]),
  )
  const { expected } = refusalOf({ '=': ['none', 1] }, many)
  t.match(expected, /\(c0, c1, .*, c19 and \d+ more\)$/)
  t.match(refusalOf({ '=': ['none', 1] }, new Map()).expected, /\(none\)$/)
})
