import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isAppError } from '../../../../src/errors.js'
import type { PostgresDb } from '../../../../src/storage/postgres/connection/database.js'
import {
  makeDatabase,
  noPostgres,
  openDb,
  optionsFor,
  SHORT,
  startServer,
  startStandby,
  type TestServer,
} from '../../../support/postgres.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const skip = noPostgres()
const noStandby = noPostgres('pg_basebackup')
const INSERT = 'INSERT INTO item VALUES ($1) ON CONFLICT (id) DO NOTHING'

t.test('PostgreSQL: a server that is killed, frozen, or a standby', { skip }, async (t) => {
  const server = await startServer(t)

  await t.test(
    'killed under writes and started again: all that was acknowledged is there once',
    async (t) => {
      const name = await makeTable(server)
      const db = openDb(t, optionsFor([server.host], name))
      const acknowledged: number[] = []
      let isDone = false
      let id = 0
      const writers = [1, 2, 3].map(async () => {
        while (!isDone) {
          const mine = ++id
          // not safe to repeat but for `isRepeat`: a second row would show
          await db.write(async (rows, { isRepeat }) => {
            const made = isRepeat ? await rows.get('SELECT 1 FROM item WHERE id = $1', mine) : undefined
            if (made === undefined) await rows.run('INSERT INTO item VALUES ($1)', mine)
            await rows.run(
              'INSERT INTO note SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM note WHERE id = $1)',
              mine,
            )
          })
          acknowledged.push(mine)
        }
      })
      const moreAcknowledged = async () => {
        const before = acknowledged.length
        while (acknowledged.length < before + 20) await delay(5)
      }
      for (let kills = 0; kills < 3; kills++) {
        await moreAcknowledged()
        await server.kill()
        await delay(100)
        await server.start()
      }
      await moreAcknowledged()
      isDone = true
      await Promise.all(writers)
      const rows = await db.read.all<{ id: number }>('SELECT id FROM item ORDER BY id')
      t.same(
        rows.map((row) => row.id),
        acknowledged.sort((a, b) => a - b),
      )
      t.match(await db.read.get('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM note'), {
        n: acknowledged.length,
        ids: acknowledged.length,
      })
    },
  )

  await t.test('down for long: 503 within the limit, and served again without a restart', async (t) => {
    const name = await makeTable(server)
    const db = openDb(t, optionsFor([server.host], name, { limits: { repeatMs: 300 } }))
    await write(db, 1)
    await server.kill()
    await rejectsWith(t, write(db, 2), 'DATABASE_UNAVAILABLE')
    await rejectsWith(t, db.read.get('SELECT 1'), 'DATABASE_UNAVAILABLE')
    await server.start()
    await untilWritten(db, 3)
    t.same(await ids(db), [1, 3])
  })

  await t.test('frozen: an error within the limit, and served again once it goes on', async (t) => {
    const name = await makeTable(server)
    const db = openDb(t, optionsFor([server.host], name, { limits: { ...SHORT, repeatMs: 500 } }))
    await Promise.all([1, 2, 3].map((id) => untilWritten(db, id)))
    server.freeze()
    try {
      const calls = [write(db, 4), db.read.get('SELECT 1')]
      for (const call of calls) await rejectsWith(t, call, 'DATABASE_UNAVAILABLE')
    } finally {
      server.thaw()
    }
    await untilWritten(db, 5)
    const patient = openDb(t, optionsFor([server.host], name))
    t.same((await ids(patient)).slice(-1), [5])
  })

  await t.test(
    'a standby as the only host takes no writes; among several the primary is found',
    { skip: noStandby },
    async (t) => {
      const name = await makeTable(server)
      const standby = await startStandby(t, server)
      const alone = openDb(t, optionsFor([standby.host], name, { limits: { repeatMs: 200 } }))
      await rejectsWith(t, write(alone, 1), 'DATABASE_UNAVAILABLE')
      const faults: string[] = []
      const onFault = ({ message }: { message: string }) => faults.push(message)
      const limits = { repeatMs: 3000 }
      const both = openDb(t, optionsFor([standby.host, server.host], name, { onFault, limits }))
      await untilWritten(both, 2)
      await server.admin('ALTER SYSTEM SET default_transaction_read_only = on')
      await server.admin('SELECT pg_reload_conf()')
      await untilEqual(t, server, 'SHOW default_transaction_read_only', 'on')
      await standby.admin('SELECT pg_promote()')
      await untilWritten(both, 3)
      t.same(await ids(both), [2, 3])
      t.ok(faults.length > 0)
      await untilWritten(alone, 4)
      t.same(await ids(alone), [2, 3, 4], 'promoted, it takes writes')

      await server.admin('ALTER SYSTEM RESET default_transaction_read_only')
      await server.admin('SELECT pg_reload_conf()')
      await untilEqual(t, server, 'SHOW default_transaction_read_only', 'off')
      await standby.kill()
      const error = await write(both, 5).catch((reason: unknown) => reason)
      t.match(error, { errorName: 'DATABASE_UNAVAILABLE' }, 'the primary of before the fail-over is not used')
      t.match(error, { cause: { message: /a primary of timeline 00000001, expected 00000002 or later/ } })
    },
  )
})

t.test('PostgreSQL: a synchronous standby', { skip: noStandby }, async (t) => {
  const server = await startServer(t)
  const name = await makeTable(server)
  const limits = { commitMs: 1000, waitMs: 1000 }
  const db = openDb(t, optionsFor([server.host], name, { requiresSync: true, limits }))

  await t.test('none is named: nothing is written', async (t) => {
    await rejectsWith(t, write(db, 1), 'DATABASE_UNAVAILABLE')
    t.same(await ids(db), [])
  })

  const standby = await startStandby(t, server)
  await server.admin(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'`)
  await server.admin('SELECT pg_reload_conf()')
  await untilEqual(t, server, 'SELECT sync_state FROM pg_stat_replication', 'quorum')

  await t.test('a write is on the standby, also for a role that does not ask for it', async (t) => {
    await server.admin('ALTER ROLE fieldgate SET synchronous_commit = off')
    const other = openDb(t, optionsFor([server.host], name, { requiresSync: true }))
    await write(other, 2)
    const copied = await standby.admin<{ id: number }>('SELECT id FROM fieldgate.item', name)
    t.same(copied, [{ id: 2 }])
  })

  await t.test('it died: 503 within the limit, reads go on, and a repeat is no success either', async (t) => {
    await standby.kill()
    let ended = 0
    const calls = [3, 4, 5, 6, 7].map((id) =>
      write(db, id)
        .catch((error: unknown) => error)
        .finally(() => ended++),
    )
    t.match(await db.read.get('SELECT 1 AS one'), { one: 1 })
    t.equal(ended, 0, 'reads do not wait for commits')
    for (const error of await Promise.all(calls)) t.match(error, { errorName: /DATABASE_UNAVAILABLE|BUSY/ })
    t.ok((await ids(db)).includes(3), 'the row is on the primary')
    await rejectsWith(t, write(db, 3), 'DATABASE_UNAVAILABLE')
    const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    const [behind] = await server.admin<{ n: number }>(waiting)
    t.ok(Number(behind?.n) <= 1, 'no connection stays behind but that of the probe')
  })

  await t.test('it is back: the same write is acknowledged', async (t) => {
    await standby.start()
    await untilEqual(t, server, 'SELECT sync_state FROM pg_stat_replication', 'quorum')
    await untilWritten(db, 3)
    const copied = await standby.admin<{ id: number }>('SELECT id FROM fieldgate.item WHERE id = 3', name)
    t.same(copied, [{ id: 3 }])
    await server.admin('ALTER ROLE fieldgate SET synchronous_commit = remote_apply')
    const applied = openDb(t, optionsFor([server.host], name, { requiresSync: true }))
    await write(applied, 8)
    t.match(await applied.read.get('SHOW synchronous_commit'), { synchronous_commit: 'remote_apply' })
  })
})

const write = (db: PostgresDb, id: number) => db.write((rows) => rows.run(INSERT, id))

/** Writes a row as a client does that repeats what was not acknowledged. */
async function untilWritten(db: PostgresDb, id: number): Promise<void> {
  for (;;) {
    const error = await write(db, id).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (error === undefined) return
    if (!isAppError(error)) throw error
    await delay(50)
  }
}

async function ids(db: PostgresDb): Promise<number[]> {
  const rows = await db.read.all<{ id: number }>('SELECT id FROM item ORDER BY id')
  return rows.map(({ id }) => id)
}

/** A database with a table, made by the administrator. @returns its name */
async function makeTable(server: TestServer): Promise<string> {
  const name = await makeDatabase(server)
  await server.admin(
    `SET synchronous_commit = local; CREATE SCHEMA fieldgate AUTHORIZATION fieldgate;
    CREATE TABLE fieldgate.item (id int PRIMARY KEY); CREATE TABLE fieldgate.note (id int);
    GRANT ALL ON ALL TABLES IN SCHEMA fieldgate TO fieldgate`,
    name,
  )
  return name
}

async function untilEqual(t: Test, server: TestServer, text: string, expected: string): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const [row] = await server.admin<Record<string, string>>(text)
    if (row !== undefined && Object.values(row)[0] === expected) return
    await delay(50)
  }
  t.fail(`${text}: never became ${expected}`)
}
