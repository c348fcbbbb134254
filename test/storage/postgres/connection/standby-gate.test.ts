import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isAppError, retryAfterS } from '../../../../src/errors.js'
import { createStandbyGate } from '../../../../src/storage/postgres/connection/standby-gate.js'
import {
  makeDatabase,
  noPostgres,
  openDb,
  optionsFor,
  startServer,
  startStandby,
  type TestServer,
} from '../../../support/postgres.js'

t.test('gate: shut once, however often it is told, until a probe succeeds', async (t) => {
  const answers: ((fault?: Error) => void)[] = []
  const faults: string[] = []
  const gate = createStandbyGate({
    probe: () =>
      new Promise((resolve, reject) => answers.push((fault) => (fault ? reject(fault) : resolve()))),
    onFault: ({ message }) => faults.push(message),
    pauseMs: 1,
  })
  gate.requireOpen()
  gate.shut()
  gate.shut()
  t.throws(() => gate.requireOpen(), { code: 'DATABASE_NOT_REPLICATED' })
  t.equal(answers.length, 1)
  answers[0]?.(new Error('still away'))
  while (answers.length < 2) await delay(1)
  t.throws(() => gate.requireOpen(), { code: 'DATABASE_NOT_REPLICATED' })
  answers[1]?.()
  while (faults.length < 2) await delay(1)
  gate.requireOpen()
  t.match(faults, [/did not reach a standby/, /after 2 probes/])
  gate.shut()
  const closed = gate.close()
  answers[2]?.(new Error('still away'))
  await closed
  t.equal(answers.length, 3, 'a closed gate probes no more')
  gate.shut()
  gate.requireOpen()
})

t.test(
  'PostgreSQL: writes while a synchronous standby is away',
  { skip: noPostgres('pg_basebackup') },
  async (t) => {
    const server = await startServer(t)
    const name = await makeDatabase(server)
    await server.admin(
      `SET synchronous_commit = local; CREATE SCHEMA fieldgate AUTHORIZATION fieldgate;
    CREATE TABLE fieldgate.item (id int PRIMARY KEY, uses int NOT NULL DEFAULT 0);
    GRANT ALL ON ALL TABLES IN SCHEMA fieldgate TO fieldgate`,
      name,
    )
    const standby = await startStandby(t, server)
    await server.admin(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'`)
    await server.admin('SELECT pg_reload_conf()')
    await untilSync(server)

    await t.test('killed', (t) => conform(t, { server, standby, name, first: 100 }, 'kill'))
    await t.test('frozen', (t) => conform(t, { server, standby, name, first: 200 }, 'freeze'))
  },
)

interface World {
  readonly server: TestServer
  readonly standby: TestServer
  readonly name: string
  /** ids of rows from this one on belong to the test */
  readonly first: number
}

async function conform(
  t: Test,
  { server, standby, name, first }: World,
  how: 'kill' | 'freeze',
): Promise<void> {
  const faults: string[] = []
  const onFault = ({ message }: { message: string }) => faults.push(message)
  const limits = { connections: 8, commitMs: 1500 }
  const db = openDb(t, optionsFor([server.host], name, { requiresSync: true, limits, onFault }))
  const acknowledged = new Set<number>()
  const write = async (id: number): Promise<unknown> => {
    try {
      await db.write((rows) => rows.run(PUT, id))
      acknowledged.add(id)
      return undefined
    } catch (error) {
      return error
    }
  }
  for (let id = first; id < first + 5; id++) await until(async () => (await write(id)) === undefined)

  if (how === 'kill') await standby.kill()
  else standby.freeze()
  // one that has written when the gate shuts, and not committed yet
  let goOn: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const underWay = db
    .write(async (rows) => {
      await rows.run(PUT, first + 50)
      await held
    })
    .catch((error: unknown) => error)
  // others wait for the lock of one row
  const calls = [0, 0, 0, 0, 1, 2].map((at) => write(first + 10 + at))
  const errors = await Promise.all(calls)
  goOn()
  for (const error of [...errors, await underWay]) {
    t.match(error, { errorName: 'DATABASE_UNAVAILABLE' })
    t.equal(isAppError(error) ? retryAfterS(error) : undefined, 5)
  }
  t.same(await db.read.all('SELECT 1 FROM item WHERE id = $1', first + 50), [], 'it failed before its commit')
  t.match(faults.join(), /a commit did not reach a standby: writes are refused/)
  let isCalled = false
  const refused = await db
    .write(async () => {
      isCalled = true
    })
    .catch((error: unknown) => error)
  t.match(refused, { errorName: 'DATABASE_UNAVAILABLE' })
  t.equal(isCalled, false, 'a new write is refused before it begins')
  t.match(await db.read.get('SELECT count(*) AS n FROM item WHERE id < $1 AND id >= $2', first + 5, first), {
    n: 5,
  })

  if (how === 'kill') await standby.start()
  else standby.thaw()
  await untilSync(server)
  await until(async () => (await write(first + 60)) === undefined)
  t.match(faults.join(), /commits reach a standby again/)
  // what was acknowledged is on the standby, which may be promoted at any time
  const copied = await standby.admin<{ id: number }>(
    `SELECT id FROM fieldgate.item WHERE id >= ${first}`,
    name,
  )
  const ids = new Set(copied.map(({ id }) => id))
  t.same(
    [...acknowledged].filter((id) => !ids.has(id)),
    [],
  )
  await db.close()
}

const PUT = 'INSERT INTO item AS i VALUES ($1) ON CONFLICT (id) DO UPDATE SET uses = i.uses + 1'

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await delay(50)
}

function untilSync(server: TestServer): Promise<void> {
  const text = `SELECT count(*)::int AS n FROM pg_stat_replication WHERE sync_state = 'quorum'`
  return until(async () => ((await server.admin<{ n: number }>(text))[0]?.n ?? 0) > 0)
}
