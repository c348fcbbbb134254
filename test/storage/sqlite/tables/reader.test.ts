import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { Geometry, Position } from '../../../../src/geo/types.js'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { dropTable } from '../../../../src/storage/sqlite/tables/catalog.js'
import { readCells } from '../../../../src/storage/sqlite/tables/cells.js'
import { MAX_SEGMENT_ROWS } from '../../../../src/storage/sqlite/tables/segment-index.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import { anyGeometry, latticePosition } from '../../../support/geometries.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, openTables } from '../../../support/tables.js'

const position = latticePosition(6) as fc.Arbitrary<Position>

interface Row {
  geometry: Geometry | null
  value: number | null
  start: number | null
  length: number
}

const anyRow: fc.Arbitrary<Row> = fc.record({
  geometry: fc.option(anyGeometry(position), { freq: 8 }),
  value: fc.option(fc.integer({ min: -3, max: 3 })),
  start: fc.option(fc.nat({ max: 20 })),
  length: fc.nat({ max: 3 }),
})

const anyQuery = fc.record(
  {
    area: anyGeometry(position),
    from: fc.nat({ max: 20 }),
    least: fc.integer({ min: -3, max: 3 }),
    order: fc.constantFrom('value', '-value', '-id'),
    offset: fc.nat({ max: 6 }),
    limit: fc.nat({ max: 12 }),
  },
  { requiredKeys: [] },
)

const hour = (n: number) => `2025-01-0${1 + Math.floor(n / 24)}T${String(n % 24).padStart(2, '0')}:00:00Z`
const hourUs = (n: number) => BigInt(Date.parse(hour(n))) * 1000n

/** What the contract says of one row. */
function matches(row: Row, query: { area?: Geometry; from?: number; least?: number }): boolean {
  const { area, from, least } = query
  if (area !== undefined && (row.geometry === null || !prepareArea(area).intersectsGeometry(row.geometry)))
    return false
  if (least !== undefined && !(row.value !== null && row.value >= least)) return false
  if (from === undefined) return true
  const until = from + 2
  const end = row.start === null ? null : row.start + row.length
  if (row.start === null || end === null) return true
  return row.start < until && (end > from || (end === row.start && row.start >= from))
}

function sorted(ids: number[], rows: Row[], order: string | undefined): number[] {
  const rank = (id: number) => {
    const value = rows[id]?.value ?? null
    return value === null ? 100 : value
  }
  if (order === 'value') return [...ids].sort((a, b) => rank(a) - rank(b) || a - b)
  if (order === '-value') return [...ids].sort((a, b) => rank(b) - rank(a) || a - b)
  return order === '-id' ? [...ids].reverse() : ids
}

t.test(
  'property: area, span, condition, order, offset and limit give the rows that a plain filter gives',
  async () => {
    let run = 0
    const tables = openTables(':memory:', 7)
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRow, { maxLength: 40 }),
        fc.array(anyQuery, { minLength: 1, maxLength: 4 }),
        async (rows, queries) => {
          const table = tables.register(
            `t${run++}`,
            [
              { name: 'id', udtName: 'int4' },
              { name: 'value', udtName: 'int2' },
            ],
            ['id'],
          )
          const features = rows.map(({ geometry, value, start, length }, id) =>
            feature(geometry, {
              id,
              value,
              start_datetime: start === null ? null : hour(start),
              end_datetime: start === null ? null : hour(start + length),
            }),
          )
          // in several calls, so that there are several segments
          for (let at = 0; at < features.length; at += 9) await tables.put(table, features.slice(at, at + 9))
          for (const { area, from, least, order, offset, limit } of queries) {
            const query: TableQuery = {
              ...(area === undefined ? {} : { area: prepareArea(area) }),
              ...(from === undefined ? {} : { span: { fromUs: hourUs(from), untilUs: hourUs(from + 2) } }),
              ...(least === undefined ? {} : { conds: { '>=': ['value', least] } }),
              ...(order === undefined ? {} : { order }),
              ...(offset === undefined ? {} : { offset }),
              ...(limit === undefined ? {} : { limit }),
            }
            const ids = rows.flatMap((row, id) =>
              matches(row, {
                ...(area && { area }),
                ...(from !== undefined && { from }),
                ...(least !== undefined && { least }),
              })
                ? [id]
                : [],
            )
            const expected = sorted(ids, rows, order).slice(offset ?? 0, (offset ?? 0) + (limit ?? Infinity))
            deepStrictEqual(
              (await tables.read(table, query)).map(({ properties }) => properties.id),
              expected,
            )
          }
        },
      ),
      { numRuns: 150 },
    )
  },
)

t.test('reader: pages are whole, a page at most, and none is empty', async (t) => {
  const tables = openTables(':memory:', 50)
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(
    table,
    Array.from({ length: 230 }, (_, k) => feature([k / 100, 0], { k })),
  )
  const sizes = async (query: TableQuery) => {
    const found: number[] = []
    for await (const page of tables.reader.pages(table, query)) found.push(page.length)
    return found
  }
  t.same(await sizes({}), [50, 50, 50, 50, 30])
  t.same(await sizes({ limit: 0 }), [])
  t.same(await sizes({ limit: 60 }), [50, 10])
  t.same(await sizes({ offset: 230 }), [])
  t.same(await sizes({ order: '-k', offset: 200 }), [30])
  t.same(await sizes({ conds: { '=': ['k', 229] } }), [1])
  t.same(await sizes({ conds: { '>': ['k', 500] } }), [])
  t.same(await sizes({ area: prepareArea({ type: 'GeometryCollection', geometries: [] }) }), [])
})

t.test('reader: columns are given as asked for, once each; location is always beside them', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'x',
    [{ name: 'k', udtName: 'int4' }, { name: 'v' }, { name: '__proto__' }],
    ['k'],
  )
  await tables.put(table, [feature([1, 2], JSON.parse('{"k":1,"v":"a","__proto__":"p"}'))])
  const [row] = await tables.read(table, { columns: ['v', 'location', 'v', '__proto__'] })
  t.equal(JSON.stringify(row?.properties), '{"v":"a","__proto__":"p"}')
  t.same(row?.geometry, { type: 'Point', coordinates: [1, 2] })
  await rejectsWith(t, tables.read(table, { columns: ['v', 'w'] }), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.properties.columns[1]' }] },
  })
})

t.test('reader: rows of a key are found by the unique index, beside other conditions', async (t) => {
  const tables = openTables()
  const columns = [{ name: 'sensor' }, { name: 'n', udtName: 'int4' as const }]
  const table = tables.register('x', columns, ['sensor', 'n'])
  await tables.put(
    table,
    Array.from({ length: 300 }, (_, n) => feature(null, { sensor: `s${n % 3}`, n })),
  )
  const conds = { and: [{ '=': ['sensor', 's1'] }, { '<': ['n', 10] }] }
  t.same(
    (await tables.read(table, { conds, order: '-n' })).map(({ properties }) => properties.n),
    [7, 4, 1],
  )
  t.same(
    (await tables.read(table, { conds: { and: [{ '=': ['sensor', 's1'] }, { '=': ['n', 4] }] } })).length,
    1,
  )
  t.same(
    (await tables.read(table, { conds: { or: [{ '=': ['sensor', 's1'] }, { '=': ['n', 5] }] } })).length,
    101,
  )
})

t.test('reader: finds tables by every name they have', async (t) => {
  const tables = openTables()
  const table = tables.register('flood.2025', [{ name: 'k' }], ['k'])
  for (const name of [
    'flood.2025',
    'flood.2025_tbl_0',
    'event.flood.2025_tbl_0',
    'ddc:flood.2025',
    'ddc:event.flood.2025_tbl_0',
  ])
    t.equal((await tables.reader.find(name))?.tableId, table.tableId, name)
  for (const name of [
    'flood',
    'Flood.2025',
    'FLOOD.2025_tbl_0',
    'other.flood.2025_tbl_0',
    '',
    'ddc:',
    '__proto__',
  ])
    t.equal(await tables.reader.find(name), undefined, name)
  tables.register('event.flood.2025_tbl_0', [{ name: 'k' }], ['k'])
  t.equal(
    (await tables.reader.find('event.flood.2025_tbl_0'))?.dataName,
    'event.flood.2025_tbl_0',
    'a data_name comes first',
  )
})

t.test('reader: a query goes on while rows are added and the index is merged, and misses none', async (t) => {
  const tables = openTables(`${t.testdir()}/data.db`, 10)
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const put = (from: number, count: number, maxMergeRows: number) =>
    tables.put(
      table,
      Array.from({ length: count }, (_, n) => feature([(from + n) / 10_000, 0], { k: from + n })),
      'skip',
      { maxMergeRows },
    )
  for (let call = 0; call < 40; call++) await put(call * 100, 100, 0)
  const area = prepareArea({
    type: 'Polygon',
    coordinates: [
      [
        [-1, -1],
        [1, -1],
        [1, 1],
        [-1, 1],
        [-1, -1],
      ],
    ],
  })
  const seen = new Set<unknown>()
  let calls = 40
  for await (const page of tables.reader.pages(table, { area })) {
    for (const { properties } of page) seen.add(properties.k)
    if (calls < 60) await put(calls++ * 100, 100, MAX_SEGMENT_ROWS)
  }
  t.equal(Array.from({ length: 4000 }, (_, k) => k).filter((k) => !seen.has(k)).length, 0)
})

t.test('reader: a caller that is gone ends the query', async (t) => {
  const tables = openTables(':memory:', 10)
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(
    table,
    Array.from({ length: 100 }, (_, k) => feature(null, { k })),
  )
  const gone = new AbortController()
  const pages = tables.reader.pages(table, {}, gone.signal)
  await pages.next()
  gone.abort()
  await rejectsWith(t, pages.next(), 'CANCELLED')
})

t.test('reader: a table that goes while it is read is told of', async (t) => {
  const tables = openTables(`${t.testdir()}/data.db`, 10)
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(
    table,
    Array.from({ length: 100 }, (_, k) => feature(null, { k })),
  )
  const pages = tables.reader.pages(table, {})
  await pages.next()
  transaction(tables.data.writer, () => dropTable(tables.data.writer, table))
  await rejectsWith(t, pages.next(), 'UNKNOWN_TABLE')
})

t.test('readCells: the cells whose half-open time holds the instant', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'risk',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'risk', udtName: 'int4' },
    ],
    ['k'],
  )
  const cell = (k: number, start: number | null, end: number | null, more: object = {}) =>
    feature([k, 0], {
      k,
      risk: k,
      start_datetime: start === null ? null : hour(start),
      end_datetime: end === null ? null : hour(end),
      ...more,
    })
  await tables.put(table, [
    cell(0, 1, 3),
    cell(1, 3, 4),
    cell(2, 0, 1),
    cell(3, null, 3),
    cell(4, 2, null),
    cell(5, null, null),
    cell(6, 2, 2),
    cell(7, 1, 3, { risk: null }),
    feature(null, { k: 8, risk: 8 }),
  ])
  const levels: number[] = []
  readCells(tables.data.reader, table, 'risk', hourUs(2), (wkb, level) => {
    t.equal(wkb.length, 21)
    levels.push(level)
  })
  t.same(levels, [0, 3, 4, 5, 6])
})

t.test(
  'reader: the first rows of an order are those of all of it, over windows and among equal keys',
  async (t) => {
    const tables = openTables(':memory:', 1) // a window has ten rows
    t.teardown(() => tables.data.close())
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'level', udtName: 'int2' as const },
      { name: 'value', udtName: 'float8' as const },
    ]
    const table = tables.register('x', columns, ['k'])
    await tables.put(
      table,
      Array.from({ length: 95 }, (_, k) => {
        const value = [null, 'NaN', 0.5, -1e300, 7][k % 5]
        return feature(null, { k, level: k % 7 === 3 ? null : k % 3, value, start_datetime: hour(1) })
      }),
    )
    const keys = async (query: TableQuery) =>
      (await tables.read(table, query)).map(({ properties }) => properties.k)
    const orders = [
      'start_datetime',
      '-start_datetime',
      'level -value',
      '-level value',
      'value -k',
      '-value level',
    ]
    for (const order of orders.map((each) => each.split(' '))) {
      const all = await keys({ order })
      t.equal(all.length, 95)
      for (const [offset, limit] of [
        [0, 5],
        [8, 20],
        [90, 30],
      ] as const)
        t.same(
          await keys({ order, offset, limit }),
          all.slice(offset, offset + limit),
          `${order} from ${offset}`,
        )
      const conds = { and: [{ not: { is_null: ['value'] } }, { '<>': ['level', 1] }] }
      const some = await keys({ order, conds })
      t.ok(some.length > 20)
      t.same(await keys({ order, conds, limit: 20 }), some.slice(0, 20), `${order} under a condition`)
    }
  },
)

t.test('reader: bytes sort as bytes, and the last rows of an area come in ascending order', async (t) => {
  const tables = openTables(':memory:', 2)
  t.teardown(() => tables.data.close())
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'raw', udtName: 'bytea' as const },
  ]
  const table = tables.register('x', columns, ['k'])
  const raws = ['/w==', 'AAE=', 'AA==', '', null, 'gA==']
  await tables.put(
    table,
    raws.map((raw, k) => feature([1, 2], { k, raw })),
  )
  const keys = async (query: TableQuery) =>
    (await tables.read(table, query)).map(({ properties }) => properties.k)
  t.same(await keys({ order: 'raw' }), [3, 2, 1, 5, 0, 4])
  const area = prepareArea({ type: 'Point', coordinates: [1, 2] })
  t.same(await keys({ area, isFromEnd: true, limit: 3 }), [3, 4, 5])
  t.same(await keys({ area, isFromEnd: true, limit: 3, beforeId: 5 }), [1, 2, 3])
})

t.test('reader: a key that very many rows share is found along the table', async (t) => {
  const tables = openTables(':memory:', 50_000)
  t.teardown(() => tables.data.close())
  const columns = [{ name: 'sensor' }, { name: 'n', udtName: 'int4' as const }]
  const table = tables.register('x', columns, ['sensor', 'n'])
  tables.data.writer.exec(`WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 100001)
    INSERT INTO x_tbl_0 (sensor, n) SELECT 'a', n FROM k; INSERT INTO x_tbl_0 (sensor, n) VALUES ('b', 1)`)
  t.equal(await tables.reader.count(table, { conds: { '=': ['sensor', 'a'] } }), 100_001)
  t.equal(await tables.reader.count(table, { conds: { '=': ['sensor', 'b'] } }), 1)
})

t.test('reader: order of texts that do not fit into memory at once', async (t) => {
  const tables = openTables()
  const table = tables.register('long', [{ name: 'n', udtName: 'int4' }, { name: 'note' }], ['n'])
  const text = 'x'.repeat(100_000)
  const at = (n: number) => (n * 37) % 200
  await tables.put(
    table,
    Array.from({ length: 200 }, (_, n) =>
      feature(null, { n, note: `${String(at(n)).padStart(3, '0')}${text}` }),
    ),
  )
  const order = async (query: TableQuery) =>
    (await tables.read(table, { columns: ['n'], ...query })).map(({ properties }) => at(Number(properties.n)))
  const all = Array.from({ length: 200 }, (_, place) => place)
  t.same(await order({ order: 'note' }), all, '40 MB of keys')
  t.same(await order({ order: '-note', offset: 150, limit: 20 }), all.toReversed().slice(150, 170))
})
