import type { Test } from 'tap'
import { isAppError } from '../../../../src/errors.js'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { openSample } from '../../condition-sample.js'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

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

/** Conditions and orders on every type. */
export async function conformConditions(t: Test, open: OpenTables): Promise<void> {
  await t.test('conditions: every operator on every type, with SQL nulls', async (t) => {
    const { ask } = await openSample(await open(t))
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

  await t.test('conditions: BAD_CONDITION names the place and the value found', async (t) => {
    const { tables, table } = await openSample(await open(t))
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

  await t.test('order: columns, descending, ties by arrival; what cannot be sorted is refused', async (t) => {
    const { tables, table } = await openSample(await open(t))
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

  await t.test(
    'conditions: a comparison with null is neither true nor false, whatever stands around it',
    async (t) => {
      const { ask } = await openSample(await open(t))
      const point = 'POINT(1 0)'
      const near = { intersects: ['shape', point] }
      const cases: [unknown, number[]][] = [
        [{ not: near }, [2, 3]],
        [{ or: [near, { not: near }] }, [1, 2, 3]],
        [{ and: [{ not: near }, { '=': ['flag', false] }] }, [2]],
        [{ or: [{ not: near }, { is_null: ['shape'] }] }, [2, 3, 4]],
        [{ not: { or: [near, { '=': ['n', 2] }] } }, [3]],
        [{ not: { and: [near, { '>': ['big', 0] }] } }, [2, 3]],
        [{ not: { and: [{ '=': ['flag', true] }, { '=': ['n', 9] }] } }, [1, 2, 3, 4]],
        [{ not: { in: ['flag', []] } }, [1, 2, 3, 4]],
        [{ not: { in: ['big', [5]] } }, [1, 3]],
        [{ not: { between: ['x', 0, 2] } }, [2, 3]],
        [{ not: { like: ['name', 'A%'] } }, [2, 3]],
        [{ not: { like: ['padded', 'a'] } }, [1, 2, 3]],
        [{ like: ['padded', 'a   '] }, [3]],
        [{ like: ['padded', 'a%'] }, [1, 2, 3]],
        [{ like: ['name', 'a\0b'] }, []],
        [{ in: ['n', [1.5, '2', 'Infinity']] }, [2]],
        [{ between: ['n', 1.5, '9999999999999999999999'] }, [2, 3, 4]],
        [{ '=': ['big', 5.5] }, []],
        [{ not: { '=': ['big', 5.5] } }, [1, 2, 3]],
        [{ '=': ['_origin', ''] }, [1, 2, 3, 4]],
        [{ '<>': ['_origin', ''] }, []],
        [{ like: ['_origin', '%-%'] }, []],
      ]
      for (const [conds, numbers] of cases) t.same(await ask(conds), numbers, JSON.stringify(conds))
    },
  )

  await t.test(
    'conditions: one that costs too much is refused, unless a key or a place narrows it',
    async (t) => {
      const { register, put, values } = await open(t)
      const table = await register('x', [{ name: 'k', udtName: 'int4' }, { name: 'note' }], ['k'])
      const note = 'a'.repeat(20_000)
      const rows = Array.from({ length: 300 }, (_, k) => feature([k / 10, 0], { k, note }))
      for (let at = 0; at < rows.length; at += 50) await put(table, rows.slice(at, at + 50))
      const costly = { like: ['note', `%${'_'.repeat(900)}b%`] }
      await rejectsWith(t, values(table, 'k', { conds: costly }), 'TOO_EXPENSIVE', {
        data: { path: '$.properties.conds' },
      })
      t.same(await values(table, 'k', { conds: { and: [{ '=': ['k', 5] }, costly] } }), [])
      t.same(await values(table, 'k', { conds: { and: [{ '=': ['k', 5] }, { not: costly }] } }), [5])
      const area = prepareArea({ type: 'Point', coordinates: [1, 0] })
      t.same(await values(table, 'k', { area, conds: { not: costly } }), [10])
    },
  )
}
