import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { limitValues } from '../../../../src/storage/sqlite/connection/value-limit.js'
import { createTableReader } from '../../../../src/storage/sqlite/tables/reader.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import type { LargeReads } from '../../../../src/storage/work/large-reads.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, NOW_US, openTables, TIME_ZONE_MIN } from '../../../support/tables.js'

const LARGE = 300_000
const LIMIT = 400_000

/** Rows 0 to 5; the notes of 1, 2 and 4 are large. */
async function opened(t: { teardown(work: () => unknown): unknown }, sizes = [9, LARGE, LARGE, 9, LARGE, 9]) {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register(
    'places',
    [{ name: 'n', udtName: 'int4' }, { name: 'note' }, { name: 'secret', isEncrypted: true }],
    ['n'],
  )
  await tables.put(
    table,
    sizes.map((size, n) => feature([139 + n, 35], { n, note: `${n}`.repeat(size), secret: 'x' })),
  )
  return { tables, table }
}

const collect = async (pages: AsyncGenerator<{ properties: Record<string, unknown> }[]>) => {
  const rows: unknown[] = []
  for await (const page of pages)
    for (const { properties } of page) rows.push([properties.n, String(properties.note ?? '').length])
  return rows
}

t.test('large rows: every order and range gives them in their place', async (t) => {
  const { tables, table } = await opened(t)
  const all = [
    [0, 9],
    [1, LARGE],
    [2, LARGE],
    [3, 9],
    [4, LARGE],
    [5, 9],
  ]
  const read = (query: TableQuery) => collect(tables.reader.pages(table, query))
  t.same(await read({}), all)
  t.same(await read({ order: '-n' }), all.toReversed())
  t.same(await read({ offset: 1, limit: 4 }), all.slice(1, 5))
  t.same(await read({ isFromEnd: true, limit: 3 }), all.slice(3))
  t.same(await read({ conds: { like: ['note', '%11%'] } }), [[1, LARGE]])
  const area = prepareArea({ type: 'Point', coordinates: [143, 35] })
  t.same(await read({ area }), [[4, LARGE]])
  t.same(await read({ area, isFromEnd: true, limit: 3 }), [[4, LARGE]])
})

t.test('large rows: they are read one by one, and each turn ends before the next one begins', async (t) => {
  const { tables, table } = await opened(t)
  const events: string[] = []
  const largeReads: LargeReads = {
    async take(bytes) {
      events.push(`take ${bytes}`)
      return () => events.push('end')
    },
  }
  const reader = createTableReader(tables.data.reader, {
    timeZoneMin: TIME_ZONE_MIN,
    pageRows: 50,
    keyring: createKeyring(new Uint8Array(32).fill(7)),
    nowUs: () => NOW_US,
    readFile: async () => new Uint8Array(),
    largeReads,
  })
  const sizes: number[] = []
  for await (const page of reader.pages(table, {})) {
    sizes.push(page.length)
    events.push('page')
  }
  t.same(sizes, [1, 1, 1, 1, 1, 1])
  const turn = [`take ${LARGE}`, 'page', 'end']
  t.same(events, ['page', ...turn, ...turn, 'page', ...turn, 'page'])
  events.length = 0
  for await (const _ of reader.pages(table, {})) if (events.length > 0) break
  t.same(events, [`take ${LARGE}`, 'end'], 'a caller that leaves ends its turn')
})

t.test(
  'large rows: a stored value beyond the limit is refused, and its row is read without it',
  async (t) => {
    const { tables, table } = await opened(t, [9, 500_000])
    limitValues(tables.data.reader, LIMIT)
    const read = (query: TableQuery) => collect(tables.reader.pages(table, query))
    await rejectsWith(t, read({}), 'VALUE_TOO_LARGE', {
      message:
        /^a value of the column note: found 500000 bytes, expected at most 400000 \(limits\.valueBytes\); leave the column out, raise the limit, or use fieldgate data export$/,
      data: { column: 'note', foundBytes: 500_000, maxBytes: LIMIT },
    })
    await rejectsWith(t, read({ conds: { like: ['note', '%0%'] } }), 'VALUE_TOO_LARGE')
    t.same(await read({ columns: ['n'] }), [
      [0, 0],
      [1, 0],
    ])
  },
)

t.test('large rows: a record beyond the limit is refused and nothing of its call is stored', async (t) => {
  const { tables, table } = await opened(t, [])
  limitValues(tables.data.writer, LIMIT)
  const put = (notes: string[]) =>
    tables.put(
      table,
      notes.map((note, n) => feature(null, { n, note, secret: 'x' })),
    )
  await rejectsWith(t, put(['small', 'x'.repeat(LIMIT + 1)]), 'BAD_RECORD', {
    message: /^note: found 400001 bytes, expected at most 400000 \(limits\.valueBytes\)$/,
    data: { index: 1, column: 'note' },
  })
  t.same(await tables.read(table), [])
  t.equal((await put(['x'.repeat(LIMIT - 100)])).insert, 1)
})
