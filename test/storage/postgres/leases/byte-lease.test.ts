import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createByteLease } from '../../../../src/storage/postgres/leases/byte-lease.js'
import { migratedDatabases, noPostgres, openDb, optionsFor } from '../../../support/postgres.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const skip = noPostgres()
let open: (t: Parameters<typeof openDb>[0]) => Promise<() => ReturnType<typeof openDb>>

t.before(async () => {
  if (skip !== false) return
  const { server, make } = await migratedDatabases(t)
  open = async (t) => {
    const name = await make()
    return () => openDb(t, optionsFor([server.host], name))
  }
})

const LONG = { lastsMs: 60_000, waitMs: 60_000 }

t.test('byte lease: a removal begins only while no process needs bytes', { skip }, async (t) => {
  const db = await open(t)
  const [one, two] = [createByteLease(db(), LONG), createByteLease(db(), LONG)]
  const [first, second] = [await one.keep(), await two.keep()]
  t.equal(await two.remove(), undefined)
  await first()
  t.equal(await one.remove(), undefined)
  await second()
  const end = await one.remove()
  t.ok(end)
  t.equal(await two.remove(), undefined, 'and one at a time')
  await end?.release()
})

t.test(
  'byte lease: a writer waits for a removal, and is refused when it takes too long',
  { skip },
  async (t) => {
    const db = await open(t)
    const one = createByteLease(db(), LONG)
    const end = await one.remove()
    await rejectsWith(t, createByteLease(db(), { ...LONG, waitMs: 0 }).keep(), 'BUSY')
    const waiting = createByteLease(db(), LONG).keep()
    await end?.release()
    await (await waiting)()
  },
)

t.test('byte lease: a dead process keeps nobody out, and a frozen one learns of it', { skip }, async (t) => {
  const db = await open(t)
  const shared = db()
  const frozen = await createByteLease(shared, LONG).keep()
  await shared.write((rows) => rows.run(`UPDATE byte_lease SET ends_at = clock_timestamp()`))
  const end = await createByteLease(db(), LONG).remove()
  t.ok(end, 'the lease has ended')
  await rejectsWith(t, frozen(), 'BUSY')
  await end?.release()
})

t.test('byte lease: a removal that was frozen for its time takes nothing any more', { skip }, async (t) => {
  const db = await open(t)
  const shared = db()
  const removal = await createByteLease(shared, LONG).remove()
  await removal?.confirm()
  await shared.write((rows) => rows.run(`UPDATE byte_lease SET ends_at = clock_timestamp()`)) // as time does
  const release = await createByteLease(db(), { ...LONG, waitMs: 0 }).keep()
  await rejectsWith(t, removal?.confirm() ?? Promise.resolve(), 'BUSY')
  await release()
  await rejectsWith(t, removal?.confirm() ?? Promise.resolve(), 'BUSY')
  await removal?.release()
})

t.test('byte lease: one that ended without a removal was good', { skip }, async (t) => {
  const shared = (await open(t))()
  const late = await createByteLease(shared, LONG).keep()
  await shared.write((rows) => rows.run(`UPDATE byte_lease SET ends_at = clock_timestamp()`))
  await late()
  const left = await shared.read.all('SELECT 1 FROM byte_lease')
  t.same(left, [])
})

t.test('byte lease: a running one is renewed', { skip }, async (t) => {
  const shared = (await open(t))()
  const end = await createByteLease(shared, { lastsMs: 200, waitMs: 0 }).keep()
  const endOf = async () =>
    (await shared.read.get<{ at: string }>('SELECT ends_at::text AS at FROM byte_lease'))?.at
  const first = await endOf()
  while ((await endOf()) === first) await delay(20)
  await end()
})
