import t from 'tap'
import { changeTimes, readCells, readTimedCells } from '../../../../src/storage/postgres/table-reads/cells.js'
import { readCells as sqliteCells } from '../../../../src/storage/sqlite/tables/cells.js'
import { changeTimes as sqliteTimes } from '../../../../src/storage/sqlite/tables/changes.js'
import { readTimedCells as sqliteTimedCells } from '../../../../src/storage/sqlite/tables/timed-cells.js'
import { openSqliteTables } from '../../../support/conformance/tables/world.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { feature } from '../../../support/tables.js'

const hour = (n: number | null | string) =>
  typeof n === 'number' ? `2025-01-01T${String(n).padStart(2, '0')}:00:00Z` : n
const hourUs = (n: number) => BigInt(Date.UTC(2025, 0, 1, n)) * 1000n

t.test('cells of risk themes on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'risk', udtName: 'int2' as const },
  ]

  await t.test('cells: those of SQLite, at instants and in spans', async (t) => {
    const hub = await open(t)
    const gateway = await openSqliteTables(t)
    const spans: [start: number | string | null, end: number | string | null][] = [
      [1, 3],
      [3, 4],
      [0, 1],
      [null, 3],
      [2, null],
      [null, null],
      [2, 2],
      ['-infinity', 2],
      [2, 'infinity'],
    ]
    const rows = [
      ...spans.map(([start, end], k) =>
        feature([k, 0], { k, risk: k % 11, start_datetime: hour(start), end_datetime: hour(end) }),
      ),
      feature([1, 2], { k: 20, start_datetime: hour(1), end_datetime: hour(3) }),
      feature(null, { k: 21, risk: 8, start_datetime: hour(1), end_datetime: hour(3) }),
    ]
    const onHub = await hub.register('x', columns, ['k'])
    const onGateway = await gateway.register('x', columns, ['k'])
    t.same(await changeTimes(hub.db.read, onHub), [])
    await hub.put(onHub, rows)
    await gateway.put(onGateway, rows)
    const { reader } = gateway.data
    const text = (wkb: Uint8Array) => Buffer.from(wkb).toString('hex')
    for (let n = 0; n < 6; n++) {
      const [here, there]: [unknown[], unknown[]] = [[], []]
      await readCells(hub.db.read, onHub, 'risk', hourUs(n), (wkb, level) => here.push([text(wkb), level]))
      sqliteCells(reader, onGateway, 'risk', hourUs(n), (wkb, level) => there.push([text(wkb), level]))
      t.same(here, there, `at ${n}`)
      t.ok(here.length > 0)
      const [timed, timedThere]: [unknown[], unknown[]] = [[], []]
      const span = { fromUs: hourUs(n), untilUs: hourUs(n + 1) }
      await readTimedCells(hub.db.read, onHub, 'risk', span, (wkb, ...more) =>
        timed.push([text(wkb), ...more]),
      )
      sqliteTimedCells(reader, onGateway, 'risk', span, (wkb, ...more) =>
        timedThere.push([text(wkb), ...more]),
      )
      t.same(timed, timedThere, `from ${n}`)
    }
    t.same(await changeTimes(hub.db.read, onHub), sqliteTimes(reader, onGateway))
    await hub.put(onHub, [feature([0, 0], { k: 0, risk: 1, start_datetime: hour(9) })], 'override')
    t.same(await changeTimes(hub.db.read, onHub), [...(sqliteTimes(reader, onGateway) ?? []), hourUs(9)])
  })

  await t.test('cells: many rows, and more instants than are kept', async (t) => {
    const { db, register, put } = await open(t)
    const table = await register('x', columns, ['k'])
    const rows = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) =>
        feature([n % 90, 0], {
          k: from + n,
          risk: 1,
          start_datetime: new Date(1.7e12 + (from + n) * 1000).toISOString(),
        }),
      )
    await put(table, rows(0, 10_000))
    t.equal((await changeTimes(db.read, table))?.length, 10_000)
    let count = 0
    await readCells(db.read, table, 'risk', 4_000_000_000_000_000n, () => count++)
    t.equal(count, 10_000)
    await put(table, rows(10_000, 10_500))
    t.equal(await changeTimes(db.read, table), undefined)
    await put(table, rows(30_000, 1))
    t.equal(await changeTimes(db.read, table), undefined)
  })
})
