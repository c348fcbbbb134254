import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createThemeRows } from '../../../../src/storage/postgres/table-reads/theme-rows.js'
import { createTableStore, createTablesContext } from '../../../../src/storage/postgres/tables/store.js'
import { buffersOf, type ThemeQuestion, visitCells } from '../../../../src/storage/theme-rows.js'
import { migratedDatabases, noPostgres, openDb, optionsFor, startStandby } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { columnOf, feature, NOW_US } from '../../../support/tables.js'

const skip = noPostgres()
const COLUMNS = [
  { name: 'k', udtName: 'int4' as const },
  { name: 'risk', udtName: 'int2' as const },
]
const OPTIONS = { levelColumn: 'risk', limitMs: 60_000, nowMs: () => 0 }

const hourUs = (n: number) => BigInt(Date.UTC(2025, 0, 1, n)) * 1000n
const cell = (k: number, start: number, end: number) =>
  feature([k, 0], {
    ...{ k, risk: k, start_datetime: new Date(Number(hourUs(start)) / 1000).toISOString() },
    end_datetime: new Date(Number(hourUs(end)) / 1000).toISOString(),
  })

const question = (given: Partial<ThemeQuestion> & { names?: readonly string[] } = {}): ThemeQuestion => ({
  tables: (given.names ?? ['flood']).map((name) => ({ name, known: undefined })),
  ...{ isListing: false, cells: [], timed: [], ...given },
})

t.test('rows of themes in PostgreSQL', { skip }, async (t) => {
  const open = await postgresTables(t)

  await t.test('theme rows: states, change times unless known, the list of tables', async (t) => {
    const { context, register, put } = await open(t)
    const rows = createThemeRows(context, OPTIONS)
    const table = await register('flood', COLUMNS, ['k'])
    const empty = await rows.read(question({ names: ['flood', 'x', 'flood_tbl_0'], isListing: true }))
    t.match(empty.tables, [{ table: { dataName: 'flood' }, changes: [] }, undefined, { changes: [] }])
    t.match(empty.all, [{ dataName: 'flood' }])
    t.equal(empty.tables.length, 3)
    await put(table, [cell(1, 1, 3)])
    const [found] = (await rows.read(question())).tables
    t.same(found?.changes, [hourUs(1), hourUs(3)])
    t.not(found?.version, empty.tables[0]?.version)
    const known = { tableId: table.tableId, version: found?.version ?? 0 }
    const again = await rows.read({ ...question(), tables: [{ name: 'flood', known }] })
    t.match(again.tables, [{ version: known.version, changes: undefined }])
    const other = { ...known, tableId: known.tableId + 1 }
    const ofOther = await rows.read({ ...question(), tables: [{ name: 'flood', known: other }] })
    t.same(ofOther.tables[0]?.changes, [hourUs(1), hourUs(3)])
  })

  await t.test('theme rows: cells of several instants, those between two changes once', async (t) => {
    const { context, register, put } = await open(t)
    const rows = createThemeRows(context, OPTIONS)
    // the third is valid at 3 o'clock alone
    await put(await register('flood', COLUMNS, ['k']), [cell(1, 1, 5), cell(2, 3, 5), cell(3, 3, 3)])
    const half = hourUs(1) / 2n - hourUs(0) / 2n
    const instantsUs = [hourUs(2), hourUs(2) + half, hourUs(3), hourUs(3) + half, hourUs(4), hourUs(6)]
    const { cells } = await rows.read(question({ cells: [{ name: 'flood', instantsUs }] }))
    const levels = cells.map(({ fromUs, untilUs, cells }) => {
      const found: number[] = []
      visitCells(cells, (_wkb, level) => found.push(level))
      return [fromUs, untilUs, found.sort()]
    })
    t.same(levels, [
      [hourUs(2), hourUs(3), [1]],
      [hourUs(3), hourUs(3) + 1n, [1, 2, 3]],
      [hourUs(3) + half, hourUs(5), [1, 2]],
      [hourUs(6), undefined, []],
    ])
    const one = await rows.read(question({ cells: [{ name: 'flood', instantsUs: [hourUs(2)] }] }))
    t.match(one.cells, [{ fromUs: hourUs(2), untilUs: hourUs(2) + 1n }])
    t.equal(buffersOf(one).length, 4)
  })

  await t.test('theme rows: a table that is dropped meanwhile is one that does not exist', async (t) => {
    const { context, store, register, put } = await open(t)
    await put(await register('flood', COLUMNS, ['k']), [cell(1, 1, 3)])
    let finds = 0
    const { catalog } = context
    const dropping: typeof catalog = {
      ...catalog,
      async find(rows, name) {
        const table = await catalog.find(rows, name)
        if (table !== undefined && ++finds === 1) await store.drop(table)
        return table
      },
    }
    const rows = createThemeRows({ ...context, catalog: dropping }, OPTIONS)
    const span = { fromUs: hourUs(1), untilUs: hourUs(2) }
    const wanted = {
      cells: [{ name: 'flood', instantsUs: [hourUs(2)] }],
      timed: [{ name: 'flood', span }],
    }
    t.same(await rows.read(question(wanted)), { tables: [undefined], all: undefined, cells: [], timed: [] })
    t.equal(finds, 1)
  })
})

t.test(
  'theme rows: a table has another state after a fail-over',
  { skip: noPostgres('pg_basebackup') },
  async (t) => {
    const { server, make } = await migratedDatabases(t)
    const name = await make()
    const context = createTablesContext(openDb(t, optionsFor([server.host], name)), { writer: randomUUID() })
    const columns = COLUMNS.map((column) => columnOf(column))
    const definition = { dataName: 'flood', schema: 'event', columns, uniqueColumns: ['k'] }
    const { tableId } = await createTableStore(context).register(definition, NOW_US)
    const [before] = (await createThemeRows(context, OPTIONS).read(question())).tables
    const standby = await startStandby(t, server)
    await server.kill()
    await standby.admin('SELECT pg_promote()')
    const db = openDb(t, optionsFor([server.host, standby.host], name))
    const rows = createThemeRows(createTablesContext(db, { writer: randomUUID() }), OPTIONS)
    const known = { tableId, version: before?.version ?? 0 }
    const [after] = (await rows.read({ ...question(), tables: [{ name: 'flood', known }] })).tables
    t.ok(Number(after?.version) > known.version, `${after?.version} after ${known.version}`)
    t.same(after?.changes, [], 'what was known of the other primary is not used')
  },
)
