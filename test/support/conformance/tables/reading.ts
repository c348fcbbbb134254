import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { Geometry, Position } from '../../../../src/geo/types.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import { anyGeometry, latticePosition } from '../../geometries.js'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

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
    isNowhereIn: fc.boolean(),
    from: fc.nat({ max: 20 }),
    least: fc.integer({ min: -3, max: 3 }),
    order: fc.constantFrom('value', '-value', '-id'),
    offset: fc.nat({ max: 6 }),
    limit: fc.nat({ max: 12 }),
    isFromEnd: fc.boolean(),
    afterId: fc.nat({ max: 20 }),
  },
  { requiredKeys: [] },
)
type AnyQuery = Parameters<Parameters<typeof anyQuery.map>[0]>[0]

const hour = (n: number) => `2025-01-0${1 + Math.floor(n / 24)}T${String(n % 24).padStart(2, '0')}:00:00Z`
const hourUs = (n: number) => BigInt(Date.parse(hour(n))) * 1000n

/** What the contract says of one row. */
function matches(row: Row, { area, isNowhereIn = false, from, least }: AnyQuery): boolean {
  if (area !== undefined) {
    const prepared = prepareArea(area)
    if (prepared.bbox === undefined) return false
    if (row.geometry === null ? !isNowhereIn : !prepared.intersectsGeometry(row.geometry)) return false
  }
  if (least !== undefined && !(row.value !== null && row.value >= least)) return false
  if (from === undefined) return true
  const until = from + 2
  const end = row.start === null ? null : row.start + row.length
  if (row.start === null || end === null) return true
  return row.start < until && (end > from || (end === row.start && row.start >= from))
}

function sorted(ids: number[], rows: Row[], order: string | undefined): number[] {
  const rank = (id: number) => rows[id]?.value ?? 100
  if (order === 'value') return [...ids].sort((a, b) => rank(a) - rank(b) || a - b)
  if (order === '-value') return [...ids].sort((a, b) => rank(b) - rank(a) || a - b)
  return order === '-id' ? [...ids].reverse() : ids
}

/** Rows of an answer: rows are put in the order of their ids, which begin with 1. */
function expectedIds(rows: Row[], query: AnyQuery): number[] {
  const { order, offset = 0, limit = Number.POSITIVE_INFINITY, isFromEnd = false, afterId } = query
  const ids = rows.flatMap((row, id) => (matches(row, query) ? [id] : []))
  if (order !== undefined) return sorted(ids, rows, order).slice(offset, offset + limit)
  const after = ids.filter((id) => afterId === undefined || id + 1 > afterId)
  if (isFromEnd) return after.slice(limit === 0 ? after.length : -limit).slice(offset)
  return after.slice(offset, offset + limit)
}

function toTableQuery({ area, from, least, order, isFromEnd, afterId, ...rest }: AnyQuery): TableQuery {
  return {
    ...rest,
    ...(area === undefined ? {} : { area: prepareArea(area) }),
    ...(from === undefined ? {} : { span: { fromUs: hourUs(from), untilUs: hourUs(from + 2) } }),
    ...(least === undefined ? {} : { conds: { '>=': ['value', least] } }),
    ...(order === undefined ? { ...(isFromEnd === undefined ? {} : { isFromEnd }) } : { order }),
    ...(order === undefined && afterId !== undefined ? { afterId } : {}),
  }
}

/** Pages, areas, spans, orders and counts. @param numRuns of the property */
export async function conformReading(t: Test, open: OpenTables, numRuns: number): Promise<void> {
  await t.test('property: a query gives the rows that a plain filter gives', async (t) => {
    let run = 0
    const { register, put, values, reader } = await open(t, { pageRows: 7 })
    const columns = [
      { name: 'id', udtName: 'int4' as const },
      { name: 'value', udtName: 'int2' as const },
    ]
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRow, { maxLength: 40 }),
        fc.array(anyQuery, { minLength: 1, maxLength: 4 }),
        async (rows, queries) => {
          const table = await register(`t${run++}`, columns, ['id'])
          const features = rows.map(({ geometry, value, start, length }, id) =>
            feature(geometry, {
              id,
              value,
              start_datetime: start === null ? null : hour(start),
              end_datetime: start === null ? null : hour(start + length),
            }),
          )
          for (let at = 0; at < features.length; at += 9) await put(table, features.slice(at, at + 9))
          for (const query of queries) {
            const asked = toTableQuery(query)
            deepStrictEqual(await values(table, 'id', asked), expectedIds(rows, query))
            const { afterId: _, offset: _o, limit: _l, ...counted } = asked
            const all = rows.filter((row) => matches(row, query)).length
            deepStrictEqual(await reader.count(table, counted), all)
          }
        },
      ),
      { numRuns },
    )
  })

  await t.test('reading: pages are whole, a page at most, and none is empty', async (t) => {
    const { register, put, reader } = await open(t, { pageRows: 50 })
    const table = await register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
    await put(
      table,
      Array.from({ length: 230 }, (_, k) => feature([k / 100, 0], { k })),
    )
    const sizes = async (query: TableQuery) => {
      const found: number[] = []
      for await (const page of reader.pages(table, query)) found.push(page.length)
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
    t.equal(await reader.count(table, { area: prepareArea({ type: 'Point', coordinates: [1, 0] }) }), 1)
    t.equal(await reader.count(table, { conds: { '<': ['k', 100] }, order: 'k' }), 100)
  })

  await t.test(
    'reading: columns are given as asked for, once each; location is always beside them',
    async (t) => {
      const { register, put, read } = await open(t)
      const table = await register(
        'x',
        [{ name: 'k', udtName: 'int4' }, { name: 'v' }, { name: '__proto__' }],
        ['k'],
      )
      await put(table, [feature([1, 2], JSON.parse('{"k":1,"v":"a","__proto__":"p"}'))])
      const [row] = await read(table, { columns: ['v', 'location', 'v', '__proto__', '_origin'] })
      t.equal(JSON.stringify(row?.properties), '{"v":"a","__proto__":"p","_origin":""}')
      t.same(row?.geometry, { type: 'Point', coordinates: [1, 2] })
      await rejectsWith(t, read(table, { columns: ['v', 'w'] }), 'INVALID_PARAMS', {
        data: { faults: [{ path: '$.properties.columns[1]' }] },
      })
    },
  )

  await t.test('reading: a query goes on while rows are added and overridden, and misses none', async (t) => {
    const { register, put, reader } = await open(t, { pageRows: 10 })
    const table = await register(
      'x',
      [
        { name: 'k', udtName: 'int4' },
        { name: 'v', udtName: 'int4' },
      ],
      ['k'],
    )
    const rows = (from: number, count: number, v: number) =>
      Array.from({ length: count }, (_, n) => feature([(from + n) / 10_000, 0], { k: from + n, v }))
    await put(table, rows(0, 200, 0))
    const area = prepareArea({
      type: 'LineString',
      coordinates: [
        [-1, 0],
        [1, 0],
      ],
    })
    for (const query of [
      {},
      { area },
      { order: 'v' },
      { conds: { '>=': ['v', 0] } },
    ] satisfies TableQuery[]) {
      const seen = new Map<unknown, number>()
      let call = 0
      for await (const page of reader.pages(table, query)) {
        for (const { properties } of page) seen.set(properties.k, (seen.get(properties.k) ?? 0) + 1)
        if (call++ < 3)
          await put(table, [...rows(1000 + call, 1, 1), ...rows(call * 20, 5, call)], 'override')
      }
      const missed = Array.from({ length: 200 }, (_, k) => k).filter((k) => seen.get(k) !== 1)
      t.same(missed, [], Object.keys(query).join())
    }
  })

  await t.test('reading: a caller that is gone ends the query', async (t) => {
    const { register, put, reader } = await open(t, { pageRows: 10 })
    const table = await register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
    await put(
      table,
      Array.from({ length: 100 }, (_, k) => feature(null, { k })),
    )
    const gone = new AbortController()
    const pages = reader.pages(table, {}, gone.signal)
    await pages.next()
    gone.abort()
    await rejectsWith(t, pages.next(), 'CANCELLED')
    await rejectsWith(t, reader.count(table, { conds: { '>=': ['k', 0] } }, gone.signal), 'CANCELLED')
  })

  await t.test('reading: order by several columns, with ties and nulls, as PostgreSQL has it', async (t) => {
    const { register, put, values } = await open(t, { pageRows: 3 })
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'a', udtName: 'text' as const },
      { name: 'b', udtName: 'float8' as const },
      { name: 'raw', udtName: 'bytea' as const },
    ]
    const table = await register('x', columns, ['k'])
    const rows: [string | null, number | string | null, string | null][] = [
      ['b', 1, '/w=='],
      ['B', 2, 'AAE='],
      [null, 1, 'AA=='],
      ['b', 'NaN', ''],
      ['\u{1f600}', null, null],
      ['\uffff', 1, 'gA=='],
      ['b', null, null],
      [null, 0, null],
    ]
    await put(
      table,
      rows.map(([a, b, raw], k) => feature(null, { k, a, b, raw })),
    )
    const keys = (order: unknown) => values(table, 'k', { order })
    t.same(await keys('a'), [1, 0, 3, 6, 5, 4, 2, 7], 'by code points')
    t.same(await keys('-a'), [2, 7, 4, 5, 0, 3, 6, 1])
    t.same(await keys(['a', '-b']), [1, 6, 3, 0, 5, 4, 2, 7])
    t.same(await keys(['-b', 'a']), [6, 4, 3, 1, 0, 5, 2, 7])
    t.same(await keys('raw'), [3, 2, 1, 5, 0, 4, 6, 7])
    t.same(await values(table, 'k', { order: ['b', '-k'], offset: 2, limit: 3 }), [2, 0, 1])
  })
}
