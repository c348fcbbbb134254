import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { AppError, isAppError } from '../../../src/errors.js'
import { typeOf, type UdtName } from '../../../src/storage/columns/column-types.js'
import {
  type ConditionColumn,
  parseCondition,
  requiredArea,
  requiredTerms,
  requiredValue,
} from '../../../src/storage/columns/condition.js'
import { decimalType } from '../../../src/storage/columns/decimal-type.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, openTables, type Tables } from '../../support/tables.js'

const COLUMNS = [
  { name: 'n', udtName: 'int4' as const },
  { name: 'big', udtName: 'int8' as const },
  { name: 'x', udtName: 'float8' as const },
  { name: 'single', udtName: 'float4' as const },
  { name: 'name', udtName: 'text' as const },
  { name: 'padded', udtName: 'bpchar' as const, length: 4 },
  { name: 'flag', udtName: 'bool' as const },
  { name: 'at', udtName: 'timestamptz' as const },
  { name: 'hour', udtName: 'timetz' as const },
  { name: 'day', udtName: 'date' as const },
  { name: 'raw', udtName: 'bytea' as const },
  { name: 'shape', udtName: 'geometry' as const, srid: 4326 },
  { name: 'secret', udtName: 'text' as const, isEncrypted: true },
]

async function openSample(): Promise<{ tables: Tables; ask: (conds: unknown) => Promise<unknown[]> }> {
  const tables = openTables()
  const table = tables.register('sample', COLUMNS, ['n'])
  const rows = [
    {
      n: 1,
      big: '9223372036854775807',
      x: 1.5,
      single: 0.1,
      name: 'Alpha',
      padded: 'ab',
      flag: true,
      at: '2025-01-01 00:00:00+09',
      hour: '09:00:00+09:00',
      day: '2025-01-01',
      raw: 'AAE=',
      secret: 'hidden',
    },
    {
      n: 2,
      big: 5,
      x: 'NaN',
      single: 2.5,
      name: 'alpha*beta',
      padded: 'abcd',
      flag: false,
      at: '2025-01-02 00:00:00+09',
      hour: '01:00:00+00:00',
      day: '2025-01-02',
      raw: 'AQ==',
    },
    {
      n: 3,
      big: -5,
      x: 'Infinity',
      single: -1,
      name: '50%_[x]',
      padded: 'a',
      flag: null,
      at: '9999-12-31 00:00:00+00',
      hour: '23:00:00-02:00',
      day: '9999-12-31',
      raw: '',
    },
    { n: 4 },
  ]
  await tables.put(
    table,
    rows.map((row) =>
      feature([139 + (row.n ?? 0), 35], {
        ...row,
        shape: row.n === 4 ? null : { type: 'Point', coordinates: [row.n, 0] },
      }),
    ),
  )
  const ask = async (conds: unknown) =>
    (await tables.read(table, { conds })).map(({ properties }) => properties.n)
  return { tables, ask }
}

/** Condition and the rows that it leaves. */
const GOOD: [unknown, number[]][] = [
  [{}, [1, 2, 3, 4]],
  [{ '=': ['n', 2] }, [2]],
  [{ '==': ['n', '2'] }, [2]],
  [{ '<>': ['n', 2] }, [1, 3, 4]],
  [{ '!=': ['x', 1.5] }, [2, 3]],
  [{ '<': ['n', 2.5] }, [1, 2]],
  [{ '>=': ['n', 1e300] }, []],
  [{ '<=': ['n', '99999999999999999999999'] }, [1, 2, 3, 4]],
  [{ '<=': ['n', '-99999999999999999999999'] }, []],
  [{ '>': ['n', '1.5'] }, [2, 3, 4]],
  [{ '=': ['big', '9223372036854775807'] }, [1]],
  [{ '<': ['big', '9223372036854775807'] }, [2, 3]],
  [{ '=': ['x', 'NaN'] }, [2]],
  [{ '>': ['x', 'Infinity'] }, [2]],
  [{ '>': ['x', 1.5] }, [2, 3]],
  [{ '<': ['x', 'NaN'] }, [1, 3]],
  [{ '=': ['single', 0.1] }, [1]],
  [{ '<': ['single', 1e300] }, [1, 2, 3]],
  [{ '=': ['name', 'alpha'] }, []],
  [{ '>': ['name', 'Z'] }, [2]],
  [{ '=': ['padded', 'ab'] }, [1]],
  [{ '=': ['padded', 'ab      '] }, [1]],
  [{ '<': ['padded', 'ab'] }, [3]],
  [{ '=': ['flag', true] }, [1]],
  [{ '<': ['flag', true] }, [2]],
  [{ '>=': ['at', '2025-01-02 00:00:00'] }, [2, 3]],
  [{ '=': ['at', { _type: 'datetime', val: '2024-12-31T15:00:00.000000+00:00' }] }, [1]],
  [{ '=': ['hour', '09:00:00+09:00'] }, [1]],
  [{ '=': ['hour', '00:00:00+00:00'] }, []],
  [{ '<': ['hour', '00:00:00+00:00'] }, [1]],
  [{ '>': ['hour', '01:00:00+00:00'] }, [3]],
  [{ between: ['day', '2025-01-01', '2025-01-02'] }, [1, 2]],
  [{ between: ['n', 3, 2] }, []],
  [{ '=': ['raw', 'AQ=='] }, [2]],
  [{ in: ['n', [1, 3, 99]] }, [1, 3]],
  [{ in: ['n', []] }, []],
  [{ in: ['hour', ['01:00:00+00:00', '10:00:00+09:00']] }, [2]],
  [{ is_null: ['flag'] }, [3, 4]],
  [{ is_null: ['shape'] }, [4]],
  [{ not: { is_null: ['flag'] } }, [1, 2]],
  [{ not: { '=': ['flag', true] } }, [2]],
  [{ like: ['name', '%lpha%'] }, [1, 2]],
  [{ like: ['name', 'alpha_beta'] }, [2]],
  [{ like: ['name', 'alpha*%'] }, [2]],
  [{ like: ['name', 'alpha?%'] }, []],
  [{ like: ['name', '50\\%\\_[x]'] }, [3]],
  [{ like: ['name', '_____'] }, [1]],
  [{ and: [{ '>': ['n', 1] }, { '<': ['n', 4] }] }, [2, 3]],
  [{ or: [{ '=': ['n', 1] }, { '=': ['n', 4] }] }, [1, 4]],
  [{ and: [] }, [1, 2, 3, 4]],
  [{ or: [] }, []],
  [
    {
      intersects: [
        'shape',
        {
          type: 'LineString',
          coordinates: [
            [1, -1],
            [1, 1],
          ],
        },
      ],
    },
    [1],
  ],
  [
    {
      within: [
        'shape',
        {
          type: 'Polygon',
          coordinates: [
            [
              [1.5, -1],
              [4, -1],
              [4, 1],
              [1.5, 1],
              [1.5, -1],
            ],
          ],
        },
      ],
    },
    [2, 3],
  ],
  [{ not: { within: ['shape', 'POLYGON((1.5 -1,4 -1,4 1,1.5 1,1.5 -1))'] } }, [1]],
  [{ intersects: ['location', { type: 'Point', coordinates: [141, 35] }] }, [2]],
  [
    { or: [{ intersects: ['location', { type: 'Point', coordinates: [141, 35] }] }, { '=': ['n', 4] }] },
    [2, 4],
  ],
  [{ intersects: ['location', { type: 'GeometryCollection', geometries: [] }] }, []],
  [{ '=': ['start_datetime', '2025-01-01'] }, []],
]

/** Condition, the place that the error names, and what it expected. */
const BAD: [unknown, string, RegExp][] = [
  [null, '$.c', /a condition like/],
  ['n = 1', '$.c', /a condition like/],
  [[], '$.c', /a condition like/],
  [{ '=': ['n', 1], '<': ['n', 2] }, '$.c', /one key/],
  [{ and: [{}] }, '$.c["and"][0]', /one key/],
  [{ and: { '=': ['n', 1] } }, '$.c["and"]', /an array/],
  [{ '~': ['n', 1] }, '$.c["~"]', /one of = ==/],
  [{ constructor: ['n', 1] }, '$.c["constructor"]', /one of = ==/],
  [JSON.parse('{"__proto__":["n",1]}'), '$.c["__proto__"]', /one of = ==/],
  [{ '=': 'n' }, '$.c["="]', /an array/],
  [{ '=': [] }, '$.c["="][0]', /name of a column/],
  [{ '=': ['N', 1] }, '$.c["="][0]', /name of a column/],
  [{ '=': ['__proto__', 1] }, '$.c["="][0]', /name of a column/],
  [{ '=': ['n); DROP TABLE sample_tbl_0; --', 1] }, '$.c["="][0]', /name of a column/],
  [{ '=': [5, 1] }, '$.c["="][0]', /name of a column/],
  [{ '=': ['n'] }, '$.c["="]', /^1$/],
  [{ '=': ['n', 1, 2] }, '$.c["="]', /^1$/],
  [{ between: ['n', 1] }, '$.c["between"]', /^2$/],
  [{ is_null: ['n', 1] }, '$.c["is_null"]', /none/],
  [{ '=': ['n', 'abc'] }, '$.c["="][1]', /a number/],
  [{ '=': ['x', 'abc'] }, '$.c["="][1]', /double precision/],
  [{ '=': ['n', null] }, '$.c["="][1]', /is_null/],
  [{ '=': ['n', { a: 1 }] }, '$.c["="][1]', /a number/],
  [{ '=': ['name', 5] }, '$.c["="][1]', /a string/],
  [{ '=': ['name', 'a\0'] }, '$.c["="][1]', /without it/],
  [{ '=': ['flag', 3] }, '$.c["="][1]', /true or false/],
  [{ '=': ['n', 9_007_199_254_740_992] }, '$.c["="][1]', /a number, or its digits as a string/],
  [{ '=': ['at', 'yesterday'] }, '$.c["="][1]', /a datetime/],
  [{ '=': ['at', '2025-02-30'] }, '$.c["="][1]', /exists/],
  [{ '=': ['raw', '???'] }, '$.c["="][1]', /base64/],
  [{ in: ['n', 5] }, '$.c["in"][1]', /an array/],
  [{ in: ['n', [1, 'x']] }, '$.c["in"][1][1]', /a number/],
  [{ in: ['n', [null]] }, '$.c["in"][1][0]', /is_null/],
  [{ like: ['n', '%'] }, '$.c["like"][0]', /a text column/],
  [{ like: ['name', 5] }, '$.c["like"][1]', /a pattern/],
  [{ like: ['name', 'a\\'] }, '$.c["like"][1]', /after each backslash/],
  [{ like: ['name', 'x'.repeat(10_001)] }, '$.c["like"][1]', /at most 10000/],
  [{ '=': ['secret', 'hidden'] }, '$.c["="][0]', /not encrypted/],
  [{ is_null: ['secret'] }, '$.c["is_null"][0]', /not encrypted/],
  [{ '=': ['shape', { type: 'Point', coordinates: [0, 0] }] }, '$.c["="][0]', /is_null/],
  [
    { intersects: ['n', { type: 'Point', coordinates: [0, 0] }] },
    '$.c["intersects"][0]',
    /a geometry column/,
  ],
  [
    { intersects: ['shape', { type: 'Point', coordinates: [0] }] },
    '$.c["intersects"][1].coordinates',
    /position/,
  ],
  [{ within: ['shape', 'POINT(a)'] }, '$.c["within"][1]WKT character 6', /position/],
  [nested(33), `$.c${'["not"]'.repeat(32)}`, /at most 32/],
  [{ in: ['n', Array.from({ length: 1001 }, (_, n) => n)] }, '$.c["in"]', /at most 1000/],
  [
    { or: Array.from({ length: 1001 }, (_, n) => ({ '=': ['n', n] })) },
    '$.c["or"][1000]["="]',
    /at most 1000/,
  ],
]

function nested(levels: number): unknown {
  let condition: unknown = { '=': ['n', 1] }
  for (let level = 1; level < levels; level++) condition = { not: condition }
  return condition
}

t.test('conditions: every operator on every type, with SQL nulls', async (t) => {
  const { ask } = await openSample()
  for (const [conds, numbers] of GOOD) t.same(await ask(conds), numbers, JSON.stringify(conds))
  t.same(await ask(nested(32)), [2, 3, 4], '32 levels')
  t.same(
    await ask({ or: Array.from({ length: 1000 }, (_, n) => ({ '=': ['n', n + 2] })) }),
    [2, 3, 4],
    '1000 terms',
  )
  t.same(
    await ask({ in: ['n', Array.from({ length: 1000 }, (_, n) => n + 2)] }),
    [2, 3, 4],
    '1000 listed values',
  )
})

t.test('conditions: BAD_CONDITION names the place and the value found', async (t) => {
  const { tables } = await openSample()
  const table = await tables.reader.find('sample')
  if (table === undefined) throw new Error('no table')
  const paths = { conds: '$.c', order: '$.order', columns: '$.columns' }
  for (const [conds, path, expected] of BAD) {
    const label = JSON.stringify(conds)?.slice(0, 100)
    const error = await tables.reader
      .pages(table, { conds }, undefined, paths)
      .next()
      .catch((fault: unknown) => fault)
    if (!isAppError(error)) {
      t.fail(`${label}: ${String(error)}`)
      continue
    }
    t.equal(error.errorName, 'BAD_CONDITION', label)
    t.equal(error.data.path, path, label)
    t.match(error.data.expected, expected, label)
  }
})

t.test('order: columns, descending, ties by arrival; what cannot be sorted is refused', async (t) => {
  const { tables } = await openSample()
  const table = await tables.reader.find('sample')
  if (table === undefined) throw new Error('no table')
  const order = async (terms: unknown) =>
    (await tables.read(table, { order: terms })).map(({ properties }) => properties.n)
  t.same(await order('-n'), [4, 3, 2, 1])
  t.same(await order('x'), [1, 3, 2, 4], 'NaN after every number, null last')
  t.same(await order('-x'), [4, 2, 3, 1])
  t.same(await order(['flag', '-n']), [2, 1, 4, 3])
  t.same(await order('hour'), [1, 2, 3, 4])
  t.same(await order('padded'), [3, 1, 2, 4])
  t.same(await order('end_datetime'), [1, 2, 3, 4])
  t.same(await order([]), [1, 2, 3, 4])
  for (const bad of [
    '',
    '-',
    'none',
    '--n',
    5,
    [5],
    { n: 1 },
    'secret',
    '-shape',
    'location',
    Array(17).fill('n'),
  ]) {
    await rejectsWith(t, order(bad), 'BAD_CONDITION')
  }
})

type Logic = boolean | null

/** A condition and what it says of a row: true, false or unknown. */
interface Made {
  conds: unknown
  test(row: { a: number | null; b: string | null }): Logic
}

const compare = {
  '=': (o: number) => o === 0,
  '<>': (o: number) => o !== 0,
  '<': (o: number) => o < 0,
  '>=': (o: number) => o >= 0,
}

const leaf: fc.Arbitrary<Made> = fc.oneof(
  fc.tuple(fc.constantFrom('=', '<>', '<', '>='), fc.nat({ max: 4 })).map(
    ([operator, value]): Made => ({
      conds: { [operator]: ['a', value] },
      test: ({ a }) => (a === null ? null : compare[operator as keyof typeof compare](a - value)),
    }),
  ),
  fc.array(fc.nat({ max: 4 }), { maxLength: 3 }).map(
    (values): Made => ({
      conds: { in: ['a', values] },
      // SQL: nothing is in an empty list, not even null
      test: ({ a }) => (values.length === 0 ? false : a === null ? null : values.includes(a)),
    }),
  ),
  fc.constantFrom('x', 'y').map(
    (value): Made => ({
      conds: { '=': ['b', value] },
      test: ({ b }) => (b === null ? null : b === value),
    }),
  ),
  fc.constant<Made>({ conds: { is_null: ['b'] }, test: ({ b }) => b === null }),
)

const { tree } = fc.letrec<{ tree: Made }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie('tree').map(({ conds, test }) => ({
      conds: { not: conds },
      test: (row: Parameters<Made['test']>[0]) => negate(test(row)),
    })),
    fc.array(tie('tree'), { maxLength: 3 }).map((parts) => ({
      conds: { and: parts.map(({ conds }) => conds) },
      test: (row: Parameters<Made['test']>[0]) => all(parts.map(({ test }) => test(row))),
    })),
    fc.array(tie('tree'), { maxLength: 3 }).map((parts) => ({
      conds: { or: parts.map(({ conds }) => conds) },
      test: (row: Parameters<Made['test']>[0]) => negate(all(parts.map(({ test }) => negate(test(row))))),
    })),
  ),
}))

function negate(value: Logic): Logic {
  return value === null ? null : !value
}

function all(values: Logic[]): Logic {
  return values.includes(false) ? false : values.includes(null) ? null : true
}

t.test('property: nested conditions leave the rows that three-valued logic leaves', async () => {
  const tables = openTables()
  const table = tables.register(
    'logic',
    [{ name: 'id', udtName: 'int4' }, { name: 'a', udtName: 'int4' }, { name: 'b' }],
    ['a', 'id'],
  )
  const rows = [0, 1, 2, 3, 4, null].flatMap((a) => ['x', 'y', null].map((b) => ({ a, b })))
  await tables.put(
    table,
    rows.map((row, id) => feature(null, { id, ...row })),
  )
  await fc.assert(
    fc.asyncProperty(tree, async ({ conds, test }) => {
      const found = (await tables.read(table, { conds })).map(({ properties }) => properties.id)
      deepStrictEqual(
        found,
        rows.flatMap((row, id) => (test(row) === true ? [id] : [])),
      )
    }),
    { numRuns: 300 },
  )
})

t.test('conditions: areas are let go of when a query ends, also by a fault', async (t) => {
  const { tables, ask } = await openSample()
  await ask({ intersects: ['shape', { type: 'Point', coordinates: [1, 0] }] })
  await t.rejects(
    ask({ and: [{ intersects: ['shape', { type: 'Point', coordinates: [1, 0] }] }, { '=': ['zzz', 1] }] }),
    AppError,
  )
  t.throws(() => tables.data.reader.prepare("SELECT geo_intersects(x'01', 1)").get(), /no area/)
  t.throws(() => tables.data.reader.prepare("SELECT geo_intersects(x'01', 2)").get(), /no area/)
})

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
