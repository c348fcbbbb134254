import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { encodeWkb } from '../../../../src/geo/wkb.js'
import { putSentRows } from '../../../../src/storage/postgres/tables/sent-rows.js'
import { lockTable } from '../../../../src/storage/postgres/tables/table-state.js'
import { asyncTransaction } from '../../../../src/storage/sqlite/connection/database.js'
import { putSentRows as putSentSqlite } from '../../../../src/storage/sqlite/tables/sent-rows.js'
import { openSqliteTables } from '../../../support/conformance/tables/world.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
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
          const here = await hub.db.write(async (statements) => {
            const state = await lockTable(statements, onHub)
            const context = { table: onHub, state, origins: hub.context.origins }
            return await putSentRows(statements, context, { origin, sender, rows })
          })
          const there = await asyncTransaction(gateway.data.writer, () =>
            putSentSqlite(gateway.data.writer, onGateway, { origin, sender, rows }, () => undefined),
          )
          deepStrictEqual(here.written, there)
        }
        const plain = async (world: typeof hub | typeof gateway) => {
          const rows = await world.changes.after(world === hub ? onHub : onGateway, 0, 1000)
          return rows.map(({ values, ...row }) => ({
            ...row,
            values: values.map((value) =>
              value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
            ),
          }))
        }
        deepStrictEqual(await plain(hub), await plain(gateway))
        deepStrictEqual(await hub.read(onHub), await gateway.read(onGateway))
      }),
      { numRuns: 40 },
    )
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
    const { db, context, register, read } = await open(t)
    const table = await register('x', [{ name: 'k' }, { name: 'v' }], ['k'])
    const rows = ['a', 'b', 'c', 'd', 'e'].map((k) => ({
      ...{ day: 1, version: 1 },
      values: [null, null, null, k, k.repeat(1_500_000)],
    }))
    let statements = 0
    const written = await db.write(async (given) => {
      const state = await lockTable(given, table)
      const counted: typeof given = {
        ...given,
        lists(...call) {
          statements++
          return given.lists(...call)
        },
      }
      const from = { origin: NODES[0] ?? '', sender: '', rows }
      return (await putSentRows(counted, { table, state, origins: context.origins }, from)).written
    })
    t.same([written, statements], [5, 2])
    t.equal((await read(table)).length, 5)
  })
})
