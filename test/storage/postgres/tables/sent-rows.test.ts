import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { encodeWkb } from '../../../../src/geo/wkb.js'
import { putSentRows } from '../../../../src/storage/postgres/tables/sent-rows.js'
import { lockTable } from '../../../../src/storage/postgres/tables/table-state.js'
import { asyncTransaction } from '../../../../src/storage/sqlite/connection/database.js'
import { putSentRows as putSentSqlite } from '../../../../src/storage/sqlite/tables/sent-rows.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { openSqliteTables, type TablesWorld } from '../../../support/conformance/tables/world.js'
import { noPostgres } from '../../../support/postgres.js'
import { type PostgresTables, postgresTables } from '../../../support/postgres-tables.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature } from '../../../support/tables.js'

const NODES = ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff', '0e984725-c51c-4bf4-9960-e1c80e27aba0']
const COLUMNS = [
  { name: 'k', udtName: 'int4' as const },
  { name: 'v' },
  { name: 'raw', udtName: 'bytea' as const },
]
const point = (lng: number) => encodeWkb({ type: 'Point', coordinates: [lng, 0] })

const anySent = fc.record({
  k: fc.option(fc.nat({ max: 4 }), { freq: 10 }),
  v: fc.constantFrom('a', 'b'),
  day: fc.nat({ max: 2 }),
  version: fc.nat({ max: 3 }),
  lng: fc.nat({ max: 3 }),
})
const anyBatch = fc.record({
  origin: fc.constantFrom(...NODES),
  sender: fc.constantFrom(...NODES),
  rows: fc.array(anySent, { maxLength: 6 }),
  isCounted: fc.boolean(),
})

const anyLarge = fc.record({
  origin: fc.constantFrom(...NODES),
  sender: fc.constantFrom(...NODES),
  first: fc.nat({ max: 60 }),
  count: fc.integer({ min: 190, max: 260 }),
  step: fc.integer({ min: 1, max: 2 }),
  version: fc.nat({ max: 4 }),
})

/** Rows with keys in steps, each of a version of its own. */
function rowsFrom(first: number, count: number, step: number, version: number) {
  return Array.from({ length: count }, (_, n) => ({
    day: version,
    version,
    values: [null, 5n, point(n % 4), first + n * step, `v${n % 5}`, Buffer.from([n % 7])],
  }))
}

function putOnHub(
  { db, context }: PostgresTables,
  table: LoaderTable,
  sent: Parameters<typeof putSentRows>[2],
  onStatement: (text: string) => void = () => undefined,
): Promise<number> {
  return db.write(async (given) => {
    const state = await lockTable(given, table)
    const rows: typeof given = {
      ...given,
      lists(text, ...call) {
        onStatement(text)
        return given.lists(text, ...call)
      },
    }
    return (await putSentRows(rows, { table, state, origins: context.origins }, sent)).written
  })
}

/** All rows in the order of their changes, bytes as hexadecimal digits. */
async function changedRows({ changes }: TablesWorld, table: LoaderTable) {
  const rows = await changes.after(table, 0, 1000)
  return rows.map(({ values, ...row }) => ({
    ...row,
    values: values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
  }))
}

t.test('rows of other nodes', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)

  await t.test('property: PostgreSQL keeps what SQLite keeps, with the same numbers', async (t) => {
    const hub = await open(t)
    const gateway = await openSqliteTables(t)
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anyBatch, { minLength: 1, maxLength: 5 }), async (batches) => {
        const name = `t${run++}`
        const onHub = await hub.register(name, COLUMNS, ['k'])
        const onGateway = await gateway.register(name, COLUMNS, ['k'])
        for (const world of [hub, gateway])
          await world.put(world === hub ? onHub : onGateway, [feature(null, { k: 1 })])
        for (const { origin, sender, rows: sent } of batches) {
          const rows = sent.map(({ k, v, day, version, lng }) => ({
            ...{ day, version },
            values: [null, 5n, point(lng), k, v, Buffer.from([lng])],
          }))
          const here = await putOnHub(hub, onHub, { origin, sender, rows })
          const there = await asyncTransaction(gateway.data.writer, () =>
            putSentSqlite(gateway.data.writer, onGateway, { origin, sender, rows }, () => undefined),
          )
          deepStrictEqual(here, there)
        }
        deepStrictEqual(await changedRows(hub, onHub), await changedRows(gateway, onGateway))
        deepStrictEqual(await hub.read(onHub), await gateway.read(onGateway))
      }),
      { numRuns: 40 },
    )
  })

  await t.test(
    'property: large sets of rows, of which some exist, are kept as SQLite keeps them',
    async (t) => {
      const hub = await open(t)
      const gateway = await openSqliteTables(t)
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(anyLarge, { minLength: 2, maxLength: 5 }), async (batches) => {
          const name = `l${run++}`
          const onHub = await hub.register(name, COLUMNS, ['k'])
          const onGateway = await gateway.register(name, COLUMNS, ['k'])
          for (const { first, count, step, version, ...from } of batches) {
            const sent = { ...from, rows: rowsFrom(first, count, step, version) }
            const there = await asyncTransaction(gateway.data.writer, () =>
              putSentSqlite(gateway.data.writer, onGateway, sent, () => undefined),
            )
            deepStrictEqual(await putOnHub(hub, onHub, sent), there)
          }
          deepStrictEqual(await changedRows(hub, onHub), await changedRows(gateway, onGateway))
        }),
        { numRuns: 12 },
      )
    },
  )

  await t.test('sent rows: once keys existed, stored rows are found before rows are sent', async (t) => {
    const world = await open(t)
    const table = await world.register('x', COLUMNS, ['k'])
    const from = { origin: NODES[0] ?? '', sender: NODES[1] ?? '' }
    const put = async (first: number, count: number, version: number) => {
      const statements: string[] = []
      const note = (text: string) => statements.push(text.includes('INSERT') ? 'write' : 'find')
      const written = await putOnHub(
        world,
        table,
        { ...from, rows: rowsFrom(first, count, 1, version) },
        note,
      )
      return [written, ...statements]
    }
    t.same(await put(0, 250, 1), [250, 'write'])
    t.same(await put(0, 250, 2), [250, 'write', 'write'], 'the first one finds rows and writes nothing')
    t.same(await put(0, 250, 3), [250, 'find', 'write'])
    t.same(await put(0, 250, 3), [0, 'find'], 'nothing is news')
    t.same(await put(0, 50, 4), [50, 'write', 'write'], 'for few rows a round trip costs more')
    t.same(await put(100, 250, 4), [250, 'find', 'write'], 'some exist')
    t.same(await put(1000, 250, 4), [250, 'find', 'write'], 'none exists')
    t.same(await put(2000, 250, 4), [250, 'write'])
    t.equal((await world.read(table)).length, 850)
    t.equal(await world.changes.last(table), 250 * 3 + 50 + 250 * 3)
  })

  await t.test('sent rows: what PostgreSQL cannot hold is refused by name', async (t) => {
    const { db, context, register, read } = await open(t)
    const table = await register('x', [{ name: 'k' }, { name: 'v' }], ['k'])
    const send = (k: string, v: string) =>
      db.write(async (rows) => {
        const state = await lockTable(rows, table)
        const sent = [
          { day: 1, version: 1, values: [null, null, null, 'ok', 'ok'] },
          { day: 1, version: 1, values: [null, null, null, k, v] },
        ]
        return await putSentRows(
          rows,
          { table, state, origins: context.origins },
          { origin: NODES[0] ?? '', sender: '', rows: sent },
        )
      })
    await rejectsWith(t, send('a', 'b\0c'), 'BAD_RECORD', { data: { index: 1, column: 'v' } })
    await rejectsWith(t, send('k'.repeat(3000), ''), 'BAD_RECORD', { data: { index: 1, column: 'k' } })
    t.same(await read(table), [])
    const { written, state } = await send('a', 'b')
    t.same([written, state.lastRow, state.lastChange], [2, 2, 2])
  })

  await t.test('sent rows: one statement holds 4 MiB of values', async (t) => {
    const world = await open(t)
    const table = await world.register('x', [{ name: 'k' }, { name: 'v' }], ['k'])
    const rows = ['a', 'b', 'c', 'd', 'e'].map((k) => ({
      ...{ day: 1, version: 1 },
      values: [null, null, null, k, k.repeat(1_500_000)],
    }))
    let statements = 0
    const sent = { origin: NODES[0] ?? '', sender: '', rows }
    const written = await putOnHub(world, table, sent, () => statements++)
    t.same([written, statements], [5, 2])
    t.equal((await world.read(table)).length, 5)
  })
})
