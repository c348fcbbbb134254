import t from 'tap'
import { typeOf, type UdtName } from '../../../../src/storage/columns/column-types.js'
import { parseCondition } from '../../../../src/storage/columns/condition.js'
import { decimalType } from '../../../../src/storage/columns/decimal-type.js'
import { compileCondition } from '../../../../src/storage/sqlite/connection/condition-sql.js'

const ENV = { timeZoneMin: 0, nowUs: 0n }
const column = (udtName: UdtName, srid: number | null = null) => ({
  type: typeOf(udtName),
  isEncrypted: false,
  srid,
})
const COLUMNS = new Map([
  ['n', column('int4')],
  ['s', column('text')],
  ['hour', column('timetz')],
  ['place', column('geometry', 4326)],
  ['price', { type: decimalType(null, null), isEncrypted: false, srid: null }],
])

function compile(conds: unknown) {
  const condition = parseCondition(conds, { columns: COLUMNS, env: ENV }, '$.conds')
  return compileCondition(condition, { sqlOf: (name) => `t."${name}"`, keepArea: () => 7 })
}

const POINT = { type: 'Point', coordinates: [0, 0] }

t.test('compileCondition: SQL and bound values of each operator', async (t) => {
  const table: [unknown, string, unknown[]][] = [
    [undefined, '1', []],
    [{}, '1', []],
    [{ and: [] }, '1', []],
    [{ or: [] }, '0', []],
    [{ '=': ['n', 5] }, 't."n" = ?', [5]],
    [{ '!=': ['n', 5] }, 't."n" <> ?', [5]],
    [{ in: ['n', [1, 2]] }, 't."n" IN (?, ?)', [1, 2]],
    [{ between: ['n', 1, 2] }, 't."n" BETWEEN ? AND ?', [1, 2]],
    [{ is_null: ['n'] }, 't."n" IS NULL', []],
    [{ not: { '<': ['n', 5] } }, 'NOT (t."n" < ?)', [5]],
    [{ intersects: ['place', POINT] }, 'geo_intersects(t."place", ?)', [7n]],
    [{ within: ['place', POINT] }, 'geo_within(t."place", ?)', [7n]],
    [{ '>': ['price', 1.5] }, 'decimal_sort_key(t."price") > decimal_sort_key(?)', ['1.5']],
    [{ '=': ['hour', '10:00+09'] }, 'timetz_sort_key(t."hour") = timetz_sort_key(?)', ['10:00:00+09:00']],
    [
      { and: [{ '=': ['n', 1] }, { or: [{ '=': ['s', 'a'] }, { '=': ['s', 'b'] }] }, { '=': ['n', 2] }] },
      '(t."n" = ? AND ((t."s" = ? OR t."s" = ?) AND t."n" = ?))',
      [1, 'a', 'b', 2],
    ],
  ]
  for (const [conds, sql, params] of table) t.same(compile(conds), { sql, params }, JSON.stringify(conds))
})

t.test('compileCondition: patterns of one column in one `and` or `or` are one call', async (t) => {
  const like = (pattern: string) => ({ like: ['s', pattern] })
  t.same(compile(like('a%')), { sql: 'like_all(t."s", ?)', params: ['["a%"]'] })
  t.same(compile({ or: [{ '=': ['n', 1] }, like('a%'), like('b"%')] }), {
    sql: '(like_any(t."s", ?) OR t."n" = ?)',
    params: ['["a%","b\\"%"]', 1],
  })
  t.same(compile({ and: [like('a%'), { not: like('b%') }, like('%c')] }), {
    sql: '(like_all(t."s", ?) AND NOT (like_all(t."s", ?)))',
    params: ['["a%","%c"]', '["b%"]'],
  })
})
