import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { PostgresDb } from '../../../../src/storage/postgres/connection/database.js'
import { createFence } from '../../../../src/storage/postgres/leases/fence.js'
import { createLeases } from '../../../../src/storage/postgres/leases/lease.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const skip = noPostgres()
const LONG_MS = 60_000

t.test('leases: one process of a hub does a task at a time', { skip }, async (t) => {
  const open = await postgresStates(t)
  const both = async (t: Test, lastsMs: number) => {
    const { db, another } = await open(t)
    const other = (await another()).db
    return {
      db,
      a: createLeases(createFence(db), { holder: 'a', lastsMs }),
      b: createLeases(createFence(other), { holder: 'b', lastsMs }),
    }
  }

  await t.test('of many that begin at once one does; the next after its end', async (t) => {
    const { a, b } = await both(t, LONG_MS)
    const terms = await Promise.all([a, b, a, b, a, b].map((leases) => leases.begin('sweep')))
    const [term, ...others] = terms.filter((one) => one !== undefined)
    t.equal(term?.epoch, 1)
    t.same(others, [])
    t.equal((await b.begin('rollout'))?.epoch, 1, 'another task is free')
    t.equal(await term?.write(async () => 'done'), 'done')
    await term?.end()
    t.equal((await b.begin('sweep'))?.epoch, 2)
    t.equal(await term?.write(async () => t.fail('it is over')), undefined)
    t.equal(await term?.renew(), false)
  })

  await t.test('a holder that was frozen writes nothing any more', async (t) => {
    const { db, a, b } = await both(t, LONG_MS)
    const frozen = await a.begin('sweep')
    t.equal(await b.begin('sweep'), undefined)
    t.equal(await frozen?.renew(), true)
    await db.write((rows) => rows.run('UPDATE lease SET ends_at = clock_timestamp()')) // as time does
    const next = await b.begin('sweep')
    t.equal(next?.epoch, 2)
    t.equal(await frozen?.write((rows) => rows.run(`INSERT INTO meta VALUES ('by', 'frozen')`)), undefined)
    t.equal(await frozen?.renew(), false)
    await frozen?.end()
    t.equal(await next?.renew(), true, 'its end does not end the term of the other')
    t.equal(await next?.write((rows) => rows.run(`INSERT INTO meta VALUES ('by', 'next')`)), 1)
    t.match(await db.read.get(`SELECT value FROM meta WHERE name = 'by'`), { value: 'next' })
  })

  await t.test('all that the work of a term writes is refused after it', async (t) => {
    const { db, b } = await both(t, LONG_MS)
    const fence = createFence(db)
    const term = await createLeases(fence, { holder: 'c', lastsMs: LONG_MS }).begin('sweep')
    const note = (text: string) =>
      fence.db.write((rows) => rows.run(`INSERT INTO meta VALUES ('note ' || $1, $1)`, text))
    await term?.run(async () => {
      await note('within')
      await db.write((rows) => rows.run('UPDATE lease SET ends_at = clock_timestamp()')) // as time does
      const next = await b.begin('sweep')
      await rejectsWith(t, note('after'), 'BUSY')
      await next?.end()
      await rejectsWith(t, note('later'), 'BUSY')
    })
    await note('outside')
    const notes = await db.read.all(`SELECT value FROM meta WHERE name LIKE 'note %' ORDER BY value`)
    t.same(notes, [{ value: 'outside' }, { value: 'within' }])
  })

  await t.test('no term begins before a write of the one before it has ended', async (t) => {
    const { db, a, b } = await both(t, 3000)
    const term = await a.begin('sweep')
    const order: string[] = []
    let begun: ReturnType<typeof b.begin> | undefined
    await term?.write(async (rows) => {
      await rows.run(`INSERT INTO meta VALUES ('slow', 'x')`)
      await until(db, 'SELECT ends_at < clock_timestamp() AS yes FROM lease')
      begun = b.begin('sweep').finally(() => order.push('begun'))
      await until(db, 'SELECT count(*) > 0 AS yes FROM pg_locks WHERE NOT granted')
      order.push('written')
    })
    t.equal((await begun)?.epoch, 2)
    t.same(order, ['written', 'begun'])
  })

  await t.test('a term that ran out unnoticed is over also where nobody took it', async (t) => {
    const { a } = await both(t, 100)
    const term = await a.begin('sweep')
    await delay(150)
    t.equal(await term?.renew(), false)
    t.equal(await term?.write(async () => t.fail('it is over')), undefined)
    t.equal((await a.begin('sweep'))?.epoch, 2)
  })
})

async function until({ read }: PostgresDb, text: string): Promise<void> {
  while ((await read.get<{ yes: boolean }>(text))?.yes !== true) await delay(20)
}

t.test('leases: a lost answer to the beginning of a term', { skip }, async (t) => {
  const { db } = await (await postgresStates(t, (commits) => commits === 1))(t)
  const leases = createLeases(createFence(db), { holder: 'a', lastsMs: LONG_MS })
  t.equal((await leases.begin('sweep'))?.epoch, 1)
  t.equal(await leases.begin('sweep'), undefined)
})
