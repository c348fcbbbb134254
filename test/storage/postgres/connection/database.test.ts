import t, { type Test } from 'tap'
import { commitCutter } from '../../../support/commit-cutter.js'
import { until } from '../../../support/models.js'
import {
  makeDatabase,
  noPostgres,
  openDb,
  optionsFor,
  PATIENT,
  startServer,
  type TestServer,
} from '../../../support/postgres.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const skip = noPostgres()

t.test('PostgreSQL: values, transactions and pool', { skip }, async (t) => {
  const server = await startServer(t)

  await t.test('values: they come back as they went, or are refused', async (t) => {
    const { db } = await open(t, server)
    const bytes = Buffer.from([0, 255, 92])
    const row = await db.read.get(
      `SELECT $1::int8 AS us, $2::bytea AS bytes, $3::bool AS flag, $4::text AS text, $5::int8 AS big,
        $6::text[] AS list, $7::float8 AS half, NULL::int8 AS nothing, 1.50::numeric AS digits`,
      ...[1_798_761_600_000_123, new Uint8Array(bytes), true, 'ä"\\\n', 9007199254740991n, ['a,b', '"'], 0.5],
    )
    t.strictSame(row, {
      us: 1_798_761_600_000_123,
      bytes,
      flag: true,
      text: 'ä"\\\n',
      big: 9007199254740991,
      list: '{"a,b","\\""}',
      half: 0.5,
      nothing: null,
      digits: '1.50',
    })
    await t.rejects(db.read.get('SELECT 9007199254740992::int8'), /found the int8 9007199254740992/)
    t.strictSame(
      await db.read.get('SELECT 1::int4 AS one, 2::int2 AS two'),
      { one: 1, two: 2 },
      'the connection is used again',
    )
  })

  await t.test('alone: a statement that is cancelled ends, and the next one has a connection', async (t) => {
    const { db } = await open(t, server, { limits: { ...PATIENT, connections: 1 } })
    const ended = new AbortController()
    const sleeping = db.alone('SELECT pg_sleep(600)', 600_000, ended.signal)
    const waiting = db.alone('SELECT pg_sleep(600)', 600_000, ended.signal)
    const isAsleep = 'SELECT 1 AS one FROM pg_stat_activity WHERE query LIKE $1 AND state = $2'
    const { db: other } = await open(t, server)
    const count = async () => (await other.read.all(isAsleep, 'SELECT pg_sleep%', 'active')).length
    await until('the statement runs', async () => (await count()) === 1)
    ended.abort(new Error('the process stops'))
    await t.rejects(sleeping)
    await t.rejects(waiting, /the process stops/)
    await t.rejects(db.alone('SELECT 1', 1000, ended.signal), /the process stops/)
    t.same(await db.alone('SELECT 1 AS one', 10_000), [{ one: 1 }])
    t.equal(await count(), 0)
  })

  await t.test('write: all of it or nothing', async (t) => {
    const { db } = await open(t, server)
    const failed = db.write(async (rows) => {
      await rows.run('INSERT INTO item VALUES ($1)', 1)
      throw new Error('the work failed')
    })
    await t.rejects(failed, /the work failed/)
    t.equal(await count(db), 0)
    t.equal(await db.write((rows) => rows.run('INSERT INTO item VALUES (1), (2)')), 2)
    await t.rejects(
      db.write((rows) => rows.run('INSERT INTO item VALUES (2)')),
      { code: '23505' },
    )
    t.equal(await count(db), 2)
  })

  await t.test('write: statements of its first and its last round trip belong to it', async (t) => {
    const { db } = await open(t, server)
    const first = 'INSERT INTO item VALUES (1) RETURNING id'
    const second = 'SELECT id FROM item UNION ALL SELECT 7 ORDER BY id'
    const seen = await db.write(
      async (_rows, attempt) => {
        attempt.endWith('INSERT INTO item VALUES (2)')
        return [attempt.first, attempt.second]
      },
      { first, second },
    )
    t.strictSame(seen, [{ id: 1 }, [{ id: 1 }, { id: 7 }]])
    t.equal(await count(db), 2)
    const failed = db.write(
      async (_rows, attempt) => attempt.endWith('INSERT INTO item VALUES (4); INSERT INTO item VALUES (2)'),
      { first: 'INSERT INTO item VALUES (3)' },
    )
    await t.rejects(failed, { code: '23505' })
    t.equal(await count(db), 2, 'a last statement that fails takes all back')
    t.equal(
      await db.write((rows) => rows.run('INSERT INTO item VALUES (3)')),
      1,
      'the connection is used again',
    )
  })

  await t.test('readState: one state for all its statements', async (t) => {
    const { db } = await open(t, server)
    await db.write((rows) => rows.run('INSERT INTO item VALUES (1)'))
    const before = await db.readState(async (rows) => {
      const counts = [await rows.get('SELECT count(*) FROM item')]
      await db.write((other) => other.run('INSERT INTO item VALUES (2)'))
      return [...counts, await rows.get('SELECT count(*) FROM item')]
    })
    t.same(before, [{ count: 1 }, { count: 1 }])
    t.same(await db.readState((rows) => rows.get('SELECT count(*) FROM item')), { count: 2 })
  })

  await t.test('write: two that wait for each other are repeated, and both take place', async (t) => {
    const { db } = await open(t, server)
    await db.write((rows) => rows.run('INSERT INTO item VALUES (1), (2)'))
    let waiting = 0
    const both = (first: number, second: number) =>
      db.write(async (rows) => {
        await rows.run('UPDATE item SET uses = uses + 1 WHERE id = $1', first)
        waiting++
        while (waiting < 2) await new Promise((resolve) => setTimeout(resolve, 5))
        await rows.run('UPDATE item SET uses = uses + 1 WHERE id = $1', second)
      })
    await Promise.all([both(1, 2), both(2, 1)])
    t.same(await db.read.all('SELECT uses FROM item'), [{ uses: 2 }, { uses: 2 }])
  })

  await t.test('limits: of a statement, and of the wait for a connection', async (t) => {
    const { name } = await open(t, server)
    const limitedTo = (limits: object) => openDb(t, optionsFor([server.host], name, { limits }))
    await rejectsWith(t, limitedTo({ statementMs: 200 }).read.get('SELECT pg_sleep(600)'), 'TIME_LIMIT')
    const narrow = limitedTo({ connections: 1, waitMs: 100, statementMs: 60_000 })
    const held = await narrow.write(async () => {
      const found = await narrow.read.get('SELECT 1').catch((error: unknown) => error)
      return found
    })
    t.match(held, { errorName: 'BUSY' })
    const patient = limitedTo({ connections: 1 })
    const waits = patient.read.get('SELECT pg_sleep(0.05)')
    t.same(await patient.read.get('SELECT 1 AS one'), { one: 1 }, 'one that becomes free is taken')
    await waits
  })

  await t.test(
    'a process that was frozen inside a transaction: the server ended it, it is repeated',
    { skip: noPostgres('psql') },
    async (t) => {
      const { db, name } = await open(t, server)
      let attempts = 0
      await db.write(async (rows) => {
        attempts++
        await rows.run('INSERT INTO item VALUES (9)')
        if (attempts > 1) return
        await rows.run("SET LOCAL idle_in_transaction_session_timeout = '100ms'")
        // this thread sees nothing until the server has closed the connection
        server.blockUntil('SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_xid IS NOT NULL', name)
        await rows.run('UPDATE item SET uses = 1 WHERE id = 9')
      })
      t.equal(attempts, 2)
      t.equal(await count(db), 1)
      await rejectsWith(
        t,
        db.write(
          async (rows) => {
            await rows.run("SET LOCAL idle_in_transaction_session_timeout = '100ms'")
            await rows.run('INSERT INTO item VALUES (10)')
            server.blockUntil('SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_xid IS NOT NULL', name)
            await rows.run('UPDATE item SET uses = 1 WHERE id = 10')
          },
          { canRepeat: false },
        ),
        'DATABASE_UNAVAILABLE',
      )
      t.equal(await count(db), 1)
    },
  )

  await t.test('a full disk and too many connections are told apart', async (t) => {
    const { db, name } = await open(t, server)
    await server.admin(
      `CREATE FUNCTION public.full_disk() RETURNS int LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END$$`,
      name,
    )
    await rejectsWith(
      t,
      db.write((rows) => rows.run('SELECT full_disk()')),
      'DISK_FULL',
    )
    await server.admin(`ALTER ROLE fieldgate CONNECTION LIMIT 1`)
    t.teardown(() => server.admin(`ALTER ROLE fieldgate CONNECTION LIMIT -1`))
    await rejectsWith(t, Promise.all([1, 2, 3].map(() => db.read.get('SELECT pg_sleep(0.2)'))), 'BUSY')
  })

  await t.test('a connection that the server ends is replaced, in the middle of a write too', async (t) => {
    const { db, name, faults } = await open(t, server)
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
    await db.read.get('SELECT 1')
    await server.admin(end)
    t.same(await db.read.get('SELECT 1 AS one'), { one: 1 })
    let attempts = 0
    await db.write(async (rows, { isRepeat }) => {
      t.equal(isRepeat, false, 'no commit was sent')
      await rows.run('INSERT INTO item VALUES (7)')
      if (++attempts === 1) await server.admin(end)
      await rows.run('UPDATE item SET uses = 1 WHERE id = 7')
    })
    t.equal(attempts, 2)
    t.equal(await count(db), 1)
    t.ok(faults.length > 0, 'the log is told')
  })

  await t.test('a commit whose answer is lost is repeated as one that may have taken place', async (t) => {
    const { name } = await open(t, server)
    const proxy = await commitCutter(t, server.host, (commits) => commits === 1)
    const db = openDb(t, optionsFor([proxy.host], name))
    const seen: boolean[] = []
    await db.write(async (rows, { isRepeat }) => {
      seen.push(isRepeat)
      await rows.run('INSERT INTO fieldgate.item VALUES (1) ON CONFLICT (id) DO NOTHING')
    })
    t.same(seen, [false, true])
    t.equal(proxy.cuts(), 1)
    t.equal(await count(db), 1)
    const next = await commitCutter(t, server.host, () => true)
    const broken = openDb(t, optionsFor([next.host], name))
    const once = broken.write((rows) => rows.run('INSERT INTO fieldgate.item VALUES (2)'), {
      canRepeat: false,
    })
    await rejectsWith(t, once, 'DATABASE_UNAVAILABLE')
  })

  await t.test('a closed database refuses work', async (t) => {
    const { db } = await open(t, server)
    await db.read.get('SELECT 1')
    await db.close()
    await db.close()
    await t.rejects(db.read.get('SELECT 1'), /closed pool/)
  })

  await t.test('what people must change is not repeated: names and schemas', async (t) => {
    const db = openDb(t, optionsFor([server.host], 'no_such_database'))
    await t.rejects(db.read.get('SELECT 1'), { code: '3D000' })
    t.throws(() => openDb(t, optionsFor([], 'x')), /expected at least one/)
    t.throws(() => openDb(t, optionsFor([server.host], 'x', { schema: 'a"; --' })), /lower-case letters/)
  })
})

type Db = ReturnType<typeof openDb>

async function count(db: Db): Promise<number | undefined> {
  const row = await db.read.get<{ n: number }>('SELECT count(*) AS n FROM fieldgate.item')
  return row?.n
}

/** A database with a table. */
async function open(t: Test, server: TestServer, given: Parameters<typeof optionsFor>[2] = {}) {
  const name = await makeDatabase(server)
  const faults: string[] = []
  const onFault = ({ message }: { message: string }) => faults.push(message)
  const db = openDb(t, optionsFor([server.host], name, { onFault, ...given }))
  await db.write(async (rows) => {
    await rows.run('CREATE SCHEMA fieldgate')
    await rows.run('CREATE TABLE item (id int PRIMARY KEY, uses int NOT NULL DEFAULT 0)')
  })
  return { db, name, faults }
}
