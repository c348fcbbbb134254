import type { Test } from 'tap'
import { NO_RULE, reading, removeAll, seqsOf, stepOf } from '../../retention.js'
import { type OpenRetention, openRules } from './world.js'

const HOUR_S = 3600
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** Rules of age and of number. */
export async function conformExpire(t: Test, open: OpenRetention): Promise<void> {
  await t.test('retention: rows older than their age go, by their end or start, and no others', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(table, [
      reading(1, 25 * HOUR_S),
      reading(2, 23 * HOUR_S),
      reading(3, null),
      reading(4, 40 * HOUR_S, { end_datetime: '2025-01-02 03:00:00+00' }),
      reading(5, 40 * HOUR_S, { end_datetime: 'infinity' }),
      reading(6, null, { start_datetime: '-infinity' }),
      reading(7, 24 * HOUR_S),
      reading(8, 24 * HOUR_S - 1),
    ])
    await store.set(table, { ...NO_RULE, ageDays: 1 })
    t.same(await removeAll(all, table, 'age'), { removed: 2, dropped: 0, waiting: 0 })
    t.same(await seqsOf(tables, table), [2, 3, 4, 5, 6, 8])
    t.match(await store.find(table), { rows: 6, removed: 2, thinned: 0, unsent: 0 })
    t.same(await removeAll(all, table, 'age'), { removed: 0, dropped: 0, waiting: 0 })
  })

  await t.test(
    'retention: rows that a feed has not sent stay, also those that its receiver refused',
    async (t) => {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      await tables.put(
        table,
        range(1, 20).map((seq) => reading(seq, 30 * 24 * HOUR_S)),
      )
      await store.set(table, { ...NO_RULE, ageDays: 1 })
      const sent = { until: 10, except: new Set([3, 4]) }
      t.same(await removeAll(all, table, 'age', { sent }), { removed: 8, dropped: 0, waiting: 12 })
      t.same(await seqsOf(tables, table), [3, 4, ...range(11, 20)])
      t.same(await removeAll(all, table, 'age', { sent, dropsUnsent: true }), {
        ...{ removed: 12, dropped: 12, waiting: 0 },
      })
      t.match(await store.find(table), { rows: 0, removed: 20, unsent: 12, oldestUs: null })
    },
  )

  await t.test('retention: the oldest rows go first, those without a time before all', async (t) => {
    const { tables, table, store } = await openRules(t, open)
    await tables.put(table, [
      reading(1, 10),
      reading(2, 30),
      reading(3, null),
      reading(4, 20),
      reading(5, 30),
    ])
    await store.set(table, { ...NO_RULE, maxRows: 3 })
    const first = await store.removeOldest(table, stepOf({ limit: 2 }))
    t.match(first, { removed: 2, next: { rowId: 2 } })
    t.same(await seqsOf(tables, table), [1, 4, 5])
    await store.removeOldest(table, stepOf({ limit: 1, after: first?.next ?? null }))
    t.same(await seqsOf(tables, table), [1, 4])
    await store.set(table, null)
    t.equal(await store.find(table), undefined)
    await tables.put(table, [reading(6, 99)])
    await store.removeOldest(table, stepOf({ limit: 1 }))
    t.same(await seqsOf(tables, table), [4, 6], 'without a rule in the order of their arrival')
    t.equal(await store.removeOldest({ ...table, tableId: 99 }, stepOf()), undefined)
    t.equal(await store.remove(table, 'age', stepOf()), undefined)
  })

  await t.test('retention: numbers of rows that are gone are not given again', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(
      table,
      range(1, 5).map((seq) => reading(seq, 30 * 24 * HOUR_S)),
    )
    await tables.put(table, [reading(2, 31 * 24 * HOUR_S)], 'override')
    await store.set(table, { ...NO_RULE, ageDays: 1 })
    await removeAll(all, table, 'age')
    t.same(await seqsOf(tables, table), [])
    t.equal(await tables.changes.last(table), 6)
    await tables.put(table, [reading(9, 1)])
    const { changes } = tables
    t.match(await changes.after(table, 6, 10), [{ change: 7 }])
    t.equal(await changes.last(table), 7)
    const env = { timeZoneMin: 0, nowUs: 0n }
    const found = await changes.matching(table, 0, 3, { conds: { '=': ['seq', 9] }, env })
    t.match(found, { rows: [{ change: 7 }], until: 7 }, 'changes of rows that are gone are passed over')
  })

  await t.test('retention: instants of slots that are gone leave the log of instants', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    const at = (minute: number) => new Date(Date.UTC(2025, 0, 1) + minute * 60_000).toISOString()
    const slot = (seq: number, from: number, until: number) =>
      reading(seq, null, { start_datetime: at(from), end_datetime: at(until) })
    // 500 slots of ten rows, and one row that began in the tenth slot and lasts
    await tables.put(
      table,
      range(0, 4999).map((seq) => slot(seq, Math.floor(seq / 10), Math.floor(seq / 10) + 1)),
    )
    await tables.put(table, [slot(9000, 10, 9000)])
    t.equal((await tables.instants(table)).length, 502)
    await store.set(table, { ...NO_RULE, ageDays: 1 })
    const nowUs = BigInt(Date.UTC(2025, 0, 2, 0, 450)) * 1000n
    await removeAll(all, table, 'age', { limit: 1000, nowUs })
    t.equal((await tables.read(table)).length, 501)
    while (await store.cleanIndex(table));
    const left = (await tables.instants(table)).map(
      (us) => Number(us / 60_000_000n) - Date.UTC(2025, 0, 1) / 60_000,
    )
    t.same(
      left,
      [10, ...range(450, 500), 9000],
      'the begin of the row that lasts, and those of rows that are there',
    )
  })

  await t.test('retention: the size of rows has their files in it', async (t) => {
    const { tables, store } = await openRules(t, open)
    const table = await tables.register(
      'photos',
      [
        { name: 'n', udtName: 'int4', isNullable: false },
        {
          ...{ name: 'photo', udtName: 'file' },
          file: {
            ...{ nameColumn: 'photo_name', typeColumn: 'photo_type', prefixIdColumn: 'photo_prefix' },
            ...{ pathIdColumn: 'photo_path', relativePathProperty: 'photo_rel' },
          },
        },
        { name: 'photo_name', udtName: 'text' },
        { name: 'photo_type', udtName: 'text' },
        { name: 'photo_prefix', udtName: 'int4' },
        { name: 'photo_path', udtName: 'text' },
      ],
      ['n'],
    )
    await store.set(table, { ...NO_RULE, maxBytes: 1000 })
    const empty = (await store.find(table))?.rowBytes ?? 0
    const photo = Buffer.alloc(5000, 1).toString('base64')
    await tables.put(table, [
      { type: 'Feature', geometry: null, properties: { n: 1, photo, photo_name: 'x', photo_type: 'y' } },
    ])
    const [found] = await store.list()
    t.equal(found?.table.dataName, 'photos')
    t.ok((found?.rowBytes ?? 0) > 5000 + empty, `found ${found?.rowBytes} bytes`)
  })
}
