import t from 'tap'
import type { MapContext } from '../../../src/api/map/context.js'
import { eventdata } from '../../../src/api/map/eventdata.js'
import { mapReads } from '../../../src/api/map/reads.js'
import { loadConfig } from '../../../src/config/config.js'
import { intersects } from '../../../src/geo/intersects.js'
import type { Geometry } from '../../../src/geo/types.js'
import { isMarked } from '../../../src/rpc/result.js'
import { adminCaller } from '../../support/caller.js'
import { inlineReaders } from '../../support/inline-readers.js'
import { readResult } from '../../support/read-stream.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, openTables, type Tables, TIME_ZONE_MIN } from '../../support/tables.js'

interface Collection {
  type: string
  features: { type: string; geometry: Geometry | null; properties: Record<string, unknown> }[]
}

function contextOf(tables: Tables, signal = new AbortController().signal): MapContext {
  const loaded = loadConfig(null, {}, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const readers = inlineReaders(mapReads({ tables: tables.reader, config: loaded.config, timeZoneMin: 540 }))
  return { readers, signal, caller: adminCaller, timeZoneMin: TIME_ZONE_MIN }
}

/** A table of places on a lattice of tenths of a degree, `n` counting up. */
async function lattice(): Promise<Tables> {
  const tables = openTables()
  const table = tables.register('places', [{ name: 'n', udtName: 'int4' }, { name: 'name' }], ['n'])
  const records = Array.from({ length: 400 }, (_, n) =>
    feature([139 + (n % 20) / 10, 35 + Math.floor(n / 20) / 10], {
      n,
      name: `place ${n % 7}`,
      start_datetime: `2025-01-01T${String(n % 24).padStart(2, '0')}:00:00+09:00`,
      end_datetime: `2025-01-01T${String(n % 24).padStart(2, '0')}:30:00+09:00`,
    }),
  )
  await tables.put(table, [...records, feature(null, { n: 1000 })])
  return tables
}

async function ask(tables: Tables, geometry: unknown, properties: object): Promise<Collection> {
  const params = { type: 'Feature', geometry, properties: { table: 'places', ...properties } }
  return (await readResult(await eventdata.call(params, contextOf(tables)))).value as Collection
}

const numbers = ({ features }: Collection) => features.map(({ properties }) => properties.n)
const triangle: Geometry = {
  type: 'Polygon',
  coordinates: [
    [
      [139, 35],
      [140, 35],
      [139, 36],
      [139, 35],
    ],
  ],
}

t.test(
  'mapserv.eventdata: features of the rows that intersect the area exactly, with table and every column',
  async (t) => {
    const tables = await lattice()
    const result = await ask(tables, triangle, { table: 'event.places_tbl_0' })
    const expected = Array.from({ length: 400 }, (_, n) => n).filter((n) =>
      intersects(triangle, {
        type: 'Point',
        coordinates: [139 + (n % 20) / 10, 35 + Math.floor(n / 20) / 10],
      }),
    )
    t.ok(expected.length > 50 && expected.length < 70, 'a triangle, not its box')
    t.same(numbers(result), expected)
    t.equal(result.type, 'FeatureCollection')
    t.same(result.features[1], {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [139.1, 35] },
      properties: {
        table: 'event.places_tbl_0',
        start_datetime: '2025-01-01T01:00:00+09:00',
        end_datetime: '2025-01-01T01:30:00+09:00',
        n: 1,
        name: 'place 1',
      },
    })
  },
)

t.test('mapserv.eventdata: null is everywhere, rows without a geometry too', async (t) => {
  const tables = await lattice()
  const all = await ask(tables, null, {})
  t.equal(all.features.length, 401)
  t.equal(all.features.at(-1)?.geometry, null)
})

t.test('mapserv.eventdata: columns, conditions, order, limit and offset', async (t) => {
  const tables = await lattice()
  const conds = { and: [{ '=': ['name', 'place 3'] }, { '<': ['n', 40] }] }
  t.same(numbers(await ask(tables, null, { conds })), [3, 10, 17, 24, 31, 38])
  t.same(numbers(await ask(tables, null, { conds, order: '-n', limit: 2, offset: 1 })), [31, 24])
  t.same(numbers(await ask(tables, null, { conds, limit: 0 })), [])
  const some = await ask(tables, triangle, { columns: ['name'], limit: 1 })
  t.same(some.features[0]?.properties, { table: 'event.places_tbl_0', name: 'place 0' })
  t.same(numbers(await ask(tables, { type: 'Point', coordinates: [139.3, 35.1] }, {})), [23])
  t.same(numbers(await ask(tables, { type: 'GeometryCollection', geometries: [] }, {})), [])
})

t.test('mapserv.eventdata: a period is half-open', async (t) => {
  const tables = await lattice()
  const between = async (start: string | undefined, end: string | undefined) => {
    const period = { ...(start && { start_datetime: start }), ...(end && { end_datetime: end }) }
    return numbers(await ask(tables, null, { ...period, conds: { '<': ['n', 24] } }))
  }
  t.same(await between('2025-01-01 03:00:00', '2025-01-01 04:00:00'), [3])
  t.same(
    await between('2025-01-01 03:30:00', '2025-01-01 04:00:00'),
    [],
    'from the end of one to the start of the next',
  )
  t.same(await between('2025-01-01T03:29:59.999999+09', '2025-01-01T04:00:00.000001+09'), [3, 4])
  t.same(await between('2025-01-01 22:10:00', undefined), [22, 23])
  t.same(await between(undefined, '2025-01-01 01:00:00'), [0])
  t.same(await between('2025-01-01 22:10:00', 'infinity'), [22, 23], 'infinity is an open end')
  t.same(await between('-infinity', '2025-01-01 01:00:00'), [0])
  const nulls = { start_datetime: null, end_datetime: '2025-01-01 01:00:00', conds: { '<': ['n', 24] } }
  t.same(numbers(await ask(tables, null, nulls)), [0], 'null is as good as absent')
})

t.test('mapserv.eventdata: infinite starts and ends of rows are open ones, and print as such', async (t) => {
  const tables = openTables()
  const table = tables.register('places', [{ name: 'n', udtName: 'int4' }], ['n'])
  const row = (n: number, start_datetime: string, end_datetime: string) =>
    feature([139, 35], { n, start_datetime, end_datetime })
  await tables.put(table, [
    row(1, '-infinity', 'infinity'),
    row(2, '2025-01-01', 'infinity'),
    row(3, '-infinity', '2025-01-01'),
    row(4, 'infinity', 'infinity'),
  ])
  const during = (start_datetime: string, end_datetime: string) =>
    ask(tables, { type: 'Point', coordinates: [139, 35] }, { start_datetime, end_datetime })
  t.same(numbers(await during('2024-06-01', '2024-07-01')), [1, 3])
  t.same(numbers(await during('9999-01-01', 'infinity')), [1, 2])
  t.same(numbers(await during('-infinity', '0002-01-01')), [1, 3])
  const { features } = await ask(tables, null, { order: ['start_datetime', 'n'] })
  t.match(
    features.map(({ properties }) => [properties.n, properties.start_datetime]),
    [
      [1, '-infinity'],
      [3, '-infinity'],
      [2, '2025-01-01T00:00:00+09:00'],
      [4, 'infinity'],
    ],
  )
  const refused = tables.put(table, [row(5, 'infinity', '2025-01-01')])
  await rejectsWith(t, refused, 'BAD_RECORD', { message: /an end before start_datetime/ })
})

t.test('mapserv.eventdata: it is streamed in chunks while it is read', async (t) => {
  const tables = await lattice()
  const params = { type: 'Feature', geometry: null, properties: { table: 'places' } }
  const { chunks } = await readResult(await eventdata.call([params], contextOf(tables)))
  t.ok(chunks >= 9, `${chunks} chunks of 50 rows`)
})

t.test('mapserv.eventdata: a caller that goes away stops the query', async (t) => {
  const tables = await lattice()
  const controller = new AbortController()
  const params = { type: 'Feature', geometry: null, properties: { table: 'places' } }
  const result = await eventdata.call(params, contextOf(tables, controller.signal))
  if (!isMarked(result) || result.kind !== 'streamedJson') throw new Error('not streamed')
  const chunks = result.chunks[Symbol.asyncIterator]()
  await chunks.next()
  controller.abort()
  await rejectsWith(t, chunks.next(), 'CANCELLED')
})

t.test('mapserv.eventdata: many at once, each its own answer', async (t) => {
  const tables = await lattice()
  const asked = Array.from({ length: 40 }, (_, n) => ask(tables, null, { conds: { '=': ['n', n] } }))
  t.same(
    (await Promise.all(asked)).map(numbers),
    Array.from({ length: 40 }, (_, n) => [n]),
  )
})

t.test('mapserv.eventdata: a column named table takes the place of the name', async (t) => {
  const tables = openTables()
  const table = tables.register('odd', [{ name: 'table' }, { name: '__proto__' }], ['table'])
  await tables.put(table, [
    JSON.parse('{"type":"Feature","geometry":null,"properties":{"table":"mine","__proto__":"x"}}'),
  ])
  const { features } = await ask(tables, null, { table: 'odd' })
  t.equal(features[0]?.properties.table, 'mine')
  t.ok(Object.hasOwn(features[0]?.properties ?? {}, '__proto__'))
})

t.test('mapserv.eventdata: bad calls', async (t) => {
  const tables = await lattice()
  const good = { type: 'Feature', geometry: null, properties: { table: 'places' } }
  const withProperties = (properties: object) => ({ ...good, properties: { table: 'places', ...properties } })
  const bad: [string, unknown, 'INVALID_PARAMS' | 'UNKNOWN_TABLE' | 'BAD_CONDITION', RegExp][] = [
    ['nothing', undefined, 'INVALID_PARAMS', /\$\.type/],
    [
      'a list of two',
      [good, good],
      'INVALID_PARAMS',
      /found an array of 2, expected an object, or an array that holds one/,
    ],
    ['no Feature', { ...good, type: 'Polygon' }, 'INVALID_PARAMS', /\$\.type/],
    ['an unknown member', { ...good, crs: {} }, 'INVALID_PARAMS', /crs/],
    [
      'no geometry',
      { type: 'Feature', properties: { table: 'places' } },
      'INVALID_PARAMS',
      /\$\.geometry: .*object/,
    ],
    [
      'a latitude of 91',
      { ...good, geometry: { type: 'Point', coordinates: [1, 91] } },
      'INVALID_PARAMS',
      /\$\.geometry\.coordinates\[1\]: found 91/,
    ],
    [
      'an open ring',
      {
        ...good,
        geometry: {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 0],
              [1, 1],
              [0, 1],
            ],
          ],
        },
      },
      'INVALID_PARAMS',
      /a closed ring/,
    ],
    ['no table', { ...good, properties: {} }, 'INVALID_PARAMS', /\$\.properties\.table/],
    ['an unknown property', withProperties({ colums: [] }), 'INVALID_PARAMS', /colums/],
    ['a negative limit', withProperties({ limit: -1 }), 'INVALID_PARAMS', /\$\.properties\.limit/],
    ['half a row', withProperties({ offset: 0.5 }), 'INVALID_PARAMS', /\$\.properties\.offset/],
    [
      'an unknown column',
      withProperties({ columns: ['n', 'm'] }),
      'INVALID_PARAMS',
      /\$\.properties\.columns\[1\].*"m"/,
    ],
    [
      'a date that is none',
      withProperties({ start_datetime: '2025-02-30 00:00:00' }),
      'INVALID_PARAMS',
      /\$\.properties\.start_datetime.*2025-02-30/,
    ],
    [
      'an end before the start',
      withProperties({ start_datetime: '2025-01-02 00:00:00', end_datetime: '2025-01-01 00:00:00' }),
      'INVALID_PARAMS',
      /\$\.properties\.end_datetime/,
    ],
    ['an unknown table', withProperties({ table: 'nowhere' }), 'UNKNOWN_TABLE', /"nowhere"/],
    ['a table in another schema', withProperties({ table: 'other.places_tbl_0' }), 'UNKNOWN_TABLE', /other/],
    [
      'an unknown operator',
      withProperties({ conds: { '~': ['n', 1] } }),
      'BAD_CONDITION',
      /\$\.properties\.conds/,
    ],
    [
      'a condition on an unknown column',
      withProperties({ conds: { '=': ['m', 1] } }),
      'BAD_CONDITION',
      /"m"/,
    ],
    [
      'a condition with a wrong value',
      withProperties({ conds: { '=': ['n', 'x'] } }),
      'BAD_CONDITION',
      /"x"/,
    ],
    [
      'an order by an unknown column',
      withProperties({ order: 'm' }),
      'BAD_CONDITION',
      /\$\.properties\.order/,
    ],
  ]
  const before = await ask(tables, null, {})
  for (const [name, params, error, message] of bad) {
    await t.test(name, (t) =>
      rejectsWith(t, eventdata.call(params, contextOf(tables)).then(readResult), error, { message }),
    )
  }
  t.same(await ask(tables, null, {}), before, 'nothing changed')
})
