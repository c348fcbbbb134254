import t from 'tap'
import { PAGE_BYTES } from '../../../../src/storage/sqlite/connection/read-some.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import { feature, openTables } from '../../../support/tables.js'

const ROWS = 30
/** Three of them fill a page. */
const LARGE = PAGE_BYTES / 3 + 1

t.test('pages end at their bytes, in each order of reading, with every row once', async (t) => {
  const tables = openTables(':memory:', 1000)
  const table = tables.register('large', [{ name: 'n', udtName: 'int4' }, { name: 'note' }], ['n'])
  const rowOf = (n: number) =>
    feature([139 + n / 100, 35], { n, note: 'x'.repeat(n % 10 === 9 ? 10 : LARGE) })
  await tables.put(
    table,
    Array.from({ length: ROWS }, (_, n) => rowOf(n)),
  )
  const area = {
    bbox: [138, 34, 141, 36],
    mayIntersectBox: () => true,
    intersectsWkb: () => true,
  } as unknown as NonNullable<TableQuery['area']>
  const queries: [string, TableQuery, number[]][] = [
    ['all', {}, upTo(ROWS)],
    ['a condition', { conds: { '>=': ['n', 0] } }, upTo(ROWS)],
    ['a key', { conds: { '=': ['n', 7] } }, [7]],
    ['an area', { area }, upTo(ROWS)],
    ['an order', { order: '-n' }, upTo(ROWS).reverse()],
    ['an offset and a limit', { offset: 4, limit: 9 }, upTo(13).slice(4)],
    ['from the end', { isFromEnd: true, limit: 9 }, upTo(ROWS).slice(-9)],
    ['from the end with an area', { isFromEnd: true, limit: 9, area }, upTo(ROWS).slice(-9)],
  ]
  for (const [name, query, expected] of queries) {
    const found: number[] = []
    for await (const page of tables.reader.pages(table, query)) {
      const bytes = page.map(({ properties }) => String(properties.note).length)
      t.ok(sum(bytes.slice(0, -1)) < PAGE_BYTES, `${name}: ${bytes.length} rows of ${sum(bytes)} bytes`)
      found.push(...page.map(({ properties }) => Number(properties.n)))
    }
    t.same(found, expected, name)
  }
})

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
