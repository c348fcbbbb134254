import t from 'tap'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, NOW_US, openTables, type Tables } from '../../../support/tables.js'

/** Everything that is stored of a table, to show that nothing changed. */
function dump(tables: Tables, dataName: string): unknown {
  const { writer } = tables.data
  return [
    writer.prepare(`SELECT * FROM "${dataName}_tbl_0"`).all(),
    writer.prepare(`SELECT * FROM "${dataName}_tbl_0_rtree"`).all(),
    writer.prepare('SELECT * FROM loader_table').all(),
    writer.prepare('SELECT * FROM loader_segment').all(),
  ]
}

t.test('put: counts rows by what became of them; duplicates within the call count too', async (t) => {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
  const rows = (...pairs: [number | null, string][]) => pairs.map(([k, v]) => feature(null, { k, v }))
  const values = async () => (await tables.read(table)).map(({ properties: { k, v } }) => [k, v])

  t.same(await tables.put(table, rows([1, 'a'], [2, 'b'], [1, 'c']), 'skip'), {
    upload: 3,
    duplicate: 1,
    insert: 2,
    update: 0,
  })
  t.same(await values(), [
    [1, 'a'],
    [2, 'b'],
  ])
  t.same(await tables.put(table, rows([1, 'd'], [3, 'e'], [3, 'f']), 'override'), {
    upload: 3,
    duplicate: 2,
    insert: 1,
    update: 2,
  })
  t.same(await values(), [
    [1, 'd'],
    [2, 'b'],
    [3, 'f'],
  ])
  t.same(await tables.put(table, rows([4, 'g']), 'error'), { upload: 1, duplicate: 0, insert: 1, update: 0 })
  t.same(
    await tables.put(table, rows([null, 'h'], [null, 'i']), 'error'),
    { upload: 2, duplicate: 0, insert: 2, update: 0 },
    'a null key equals none',
  )
  t.same(await tables.put(table, [], 'error'), { upload: 0, duplicate: 0, insert: 0, update: 0 })
})

t.test(
  'put: the table version grows by one with every call that changed rows, and with no other',
  async (t) => {
    const tables = openTables()
    const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
    const version = () => tables.reader.dataVersion(table)
    t.equal(await version(), 0)
    await tables.put(table, [feature(null, { k: 1 }), feature(null, { k: 2 })])
    t.equal(await version(), 1)
    await tables.put(table, [feature(null, { k: 1 })], 'skip')
    t.equal(await version(), 1)
    await tables.put(table, [feature(null, { k: 1 })], 'override')
    t.equal(await version(), 2)
    await t.rejects(tables.put(table, [feature(null, { k: 3 }), feature(null, { k: 'x' })]))
    t.equal(await version(), 2)
  },
)

t.test('put: a column without a value gets its default, else null, else is a fault', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'x',
    [
      { name: 'k', udtName: 'int4', isNullable: false },
      { name: 'count', udtName: 'int8', isNullable: false, columnDefault: '7' },
      { name: 'empty', udtName: 'varchar', isNullable: false, columnDefault: '' },
      { name: 'code', udtName: 'bpchar', length: 3, columnDefault: 'a' },
      { name: 'at', udtName: 'timestamptz', columnDefault: 'now()' },
      { name: 'place', udtName: 'geometry', srid: 4326, columnDefault: 'POINT(1 2)' },
      { name: 'note' },
    ],
    ['k'],
  )
  await tables.put(table, [{ type: 'Feature', properties: { k: 1 } }])
  await tables.put(table, [feature(null, { k: 2, code: null, at: null, place: null })])
  const [first, second] = await tables.read(table)
  t.same(first?.properties, {
    start_datetime: null,
    end_datetime: null,
    k: 1,
    count: 7,
    empty: '',
    code: 'a  ',
    at: '2025-01-02T12:04:05.678901+09:00',
    place: { type: 'Point', coordinates: [1, 2] },
    note: null,
  })
  t.match(second?.properties, { code: null, at: null, place: null }, 'null is not replaced')
  t.equal(NOW_US, 1_735_787_045_678_901)
  await rejectsWith(t, tables.put(table, [feature(null, {})]), 'BAD_RECORD', {
    data: { index: 0, column: 'k' },
  })
  await rejectsWith(t, tables.put(table, [feature(null, { k: null })]), 'BAD_RECORD', {
    data: { column: 'k' },
    message: /found null/,
  })
  await tables.put(table, [feature(null, { k: 3, count: null, empty: null, code: null })])
  const third = (await tables.read(table)).at(-1)
  t.match(third?.properties, { k: 3, count: 7, empty: '', code: null }, 'as init_record has them')
})

/** Records that do not fit; the column and the reason that must be told. */
const BAD: [unknown, string | null, RegExp][] = [
  [null, null, /found null, expected a GeoJSON Feature/],
  [5, null, /expected a GeoJSON Feature/],
  [[], null, /expected a GeoJSON Feature/],
  [{ geometry: null, properties: { k: 9 } }, null, /type: found nothing/],
  [{ type: 'Point', coordinates: [1, 2] }, null, /type: found "Point"/],
  [{ type: 'Feature', geometry: null, properties: 5 }, null, /properties: found 5/],
  [{ type: 'Feature', geometry: null, properties: [] }, null, /properties: found an array/],
  [feature({ type: 'Point', coordinates: [200, 0] }, { k: 9 }), 'location', /longitude/],
  [feature({ type: 'Circle' }, { k: 9 }), 'location', /Circle/],
  [feature('POINT(1 2)', { k: 9 }), 'location', /GeoJSON geometry/],
  [feature(null, { k: 9, unknown: 1 }), 'unknown', /unknown property "unknown", expected any of k, /],
  [feature(null, JSON.parse('{"k":9,"__proto__":1}')), '__proto__', /unknown property/],
  [feature(null, { k: 9, constructor: 1 }), 'constructor', /unknown property/],
  [feature(null, { k: 9, location: null }), 'location', /the Feature's geometry/],
  [feature(null, { k: 'x' }), 'k', /whole number/],
  [feature(null, { k: 9, v: 5 }), 'v', /a string/],
  [feature(null, { k: 9, v: 'four characters and more' }), 'v', /24 characters, expected at most 10/],
  [feature(null, { k: 9, start_datetime: '2025-02-30' }), 'start_datetime', /exists/],
  [
    feature(null, { k: 9, start_datetime: '2025-01-02', end_datetime: '2025-01-01' }),
    'end_datetime',
    /start ≤ end/,
  ],
]

t.test(
  'put: a record that does not fit is named by index, column and reason, and nothing of the call stays',
  async (t) => {
    const tables = openTables()
    const table = tables.register(
      'x',
      [
        { name: 'k', udtName: 'int4', isNullable: false },
        { name: 'v', udtName: 'varchar', length: 10 },
      ],
      ['k'],
    )
    await tables.put(table, [feature([1, 2], { k: 1, v: 'here' })])
    const before = dump(tables, 'x')
    for (const [bad, column, reason] of BAD) {
      const records = [
        feature([3, 4], { k: 2 }),
        feature([5, 6], { k: 1, v: 'there' }),
        bad,
        feature([7, 8], { k: 3 }),
      ]
      await rejectsWith(t, tables.put(table, records, 'override'), 'BAD_RECORD', {
        data: { index: 2, column, reason },
        message: reason,
      })
      t.same(dump(tables, 'x'), before, JSON.stringify(bad)?.slice(0, 80))
    }
  },
)

t.test(
  'put: if_exists error refuses the call at the first key that is there, in the table or the call',
  async (t) => {
    const tables = openTables()
    const table = tables.register(
      'x',
      [
        { name: 'k', udtName: 'int4' },
        { name: 'b', udtName: 'bytea' },
        { name: 'day', udtName: 'timestamp', columnDefault: '2025-01-01' },
      ],
      ['k', 'b', 'day'],
    )
    await tables.put(table, [feature(null, { k: 1, b: 'AAE=' })])
    const before = dump(tables, 'x')
    await rejectsWith(
      t,
      tables.put(table, [feature(null, { k: 2, b: '' }), feature(null, { k: 1, b: 'AAE=' })], 'error'),
      'RECORD_EXISTS',
      {
        data: { index: 1, unique_columns: ['k', 'b', 'day'] },
        message: /k 1, b \(2 bytes\), day "2025-01-01T00:00:00"/,
      },
    )
    await rejectsWith(
      t,
      tables.put(table, [feature(null, { k: 2, b: '' }), feature(null, { k: 2, b: '' })], 'error'),
      'RECORD_EXISTS',
      { data: { index: 1 } },
    )
    t.same(dump(tables, 'x'), before)
  },
)

t.test('put: keys that PostgreSQL takes for equal are equal: padding, NaN, -0', async (t) => {
  const tables = openTables()
  const columns = [
    { name: 'c', udtName: 'bpchar' as const },
    { name: 'x', udtName: 'float8' as const },
  ]
  const table = tables.register('x', columns, ['c', 'x'])
  const rows = [
    ['a', 'NaN'],
    ['a  ', 'nan'],
    ['a', 0],
    ['a', -0],
    ['A', 0],
  ]
  const counters = await tables.put(
    table,
    rows.map(([c, x]) => feature(null, { c, x })),
    'override',
  )
  t.same(counters, { upload: 5, duplicate: 2, insert: 3, update: 2 })
})

t.test('put: start may equal end, either may be missing', async (t) => {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const spans = [
    { start_datetime: '2025-01-01', end_datetime: '2025-01-01' },
    { start_datetime: '2025-01-01' },
    { end_datetime: '2025-01-01' },
  ]
  t.match(
    await tables.put(
      table,
      spans.map((span, k) => feature(null, { k, ...span })),
    ),
    { insert: 3 },
  )
})

t.test('put: members of a Feature that are none of ours are left aside', async (t) => {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const record = {
    type: 'Feature',
    id: 7,
    bbox: [0, 0, 1, 1],
    foreign: {},
    geometry: null,
    properties: { k: 1 },
  }
  t.match(await tables.put(table, [record]), { insert: 1 })
})

t.test('put: what is encrypted is unreadable in the file and readable through the reader', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'x',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'secret', isEncrypted: true },
    ],
    ['k'],
  )
  await tables.put(table, [
    feature(null, { k: 1, secret: 'name of a witness' }),
    feature(null, { k: 2, secret: '' }),
    feature(null, { k: 3 }),
  ])
  t.same(
    (await tables.read(table)).map(({ properties }) => properties.secret),
    ['name of a witness', '', null],
  )
  const stored = tables.data.writer
    .prepare('SELECT secret FROM x_tbl_0')
    .pluck()
    .all() as (Uint8Array | null)[]
  t.notMatch(Buffer.from(stored[0] ?? []).toString('latin1'), /witness/)
  const swap = tables.data.writer.prepare('UPDATE x_tbl_0 SET secret = ? WHERE k = 1')
  swap.run(Buffer.concat([stored[0] ?? new Uint8Array(), Buffer.of(0)]))
  t.same(
    (await tables.read(table)).map(({ properties }) => properties.secret),
    [null, '', null],
    'bytes that were changed are not decrypted, and keep no other value from being read',
  )
})

t.test('put: lets the event loop turn, and readers see nothing before the commit', async (t) => {
  const file = `${t.testdir()}/data.db`
  const tables = openTables(file)
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const seen = new Set<number>()
  const timer = setInterval(
    () => seen.add(tables.data.reader.prepare('SELECT count(*) FROM x_tbl_0').pluck().get() as number),
    1,
  )
  await tables.put(
    table,
    Array.from({ length: 20_000 }, (_, k) => feature([139, 35], { k })),
    'skip',
    { sliceMs: 2 },
  )
  clearInterval(timer)
  t.ok(seen.size > 0, 'others had their turn')
  t.same(
    [...seen].filter((count) => count !== 0),
    [],
  )
  t.equal((await tables.read(table)).length, 20_000)
})

t.test('put: a call that was given up leaves nothing', async (t) => {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const before = dump(tables, 'x')
  let checks = 0
  const throwIfCancelled = () => {
    if (++checks === 3) throw new Error('given up')
  }
  await t.rejects(
    tables.put(
      table,
      Array.from({ length: 500 }, (_, k) => feature(null, { k })),
      'skip',
      { throwIfCancelled },
    ),
    /given up/,
  )
  t.same(dump(tables, 'x'), before)
})

t.test('put: a full disk refuses the call, and the next one finds room again', async (t) => {
  const tables = openTables(`${t.testdir()}/data.db`)
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
  await tables.put(table, [feature([1, 2], { k: 1 })])
  const before = dump(tables, 'x')
  const pages = tables.data.writer.pragma('page_count', { simple: true }) as number
  tables.data.writer.pragma(`max_page_count = ${pages + 2}`)
  const large = Array.from({ length: 50 }, (_, k) => feature([1, 2], { k: k + 2, v: 'x'.repeat(5000) }))
  await rejectsWith(t, tables.put(table, large), 'DISK_FULL')
  t.same(dump(tables, 'x'), before)
  tables.data.writer.pragma('max_page_count = 1000000')
  t.match(await tables.put(table, large), { insert: 50 })
})
