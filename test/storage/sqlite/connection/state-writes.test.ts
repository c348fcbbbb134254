import t, { type Test } from 'tap'
import { AppError } from '../../../../src/errors.js'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { createStateWrites } from '../../../../src/storage/sqlite/connection/state-writes.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { rejectsWith } from '../../../support/rejects-with.js'

/** Writes over a database that notes its commits; the clock goes on by `stepMs` at each look. */
function opened(t: Test, stepMs = 0) {
  const db = openDatabase(':memory:', ['CREATE TABLE x (n INTEGER PRIMARY KEY) STRICT'])
  t.teardown(() => db.close())
  const events: string[] = []
  const transaction = db.transaction.bind(db)
  db.transaction = ((work: () => unknown) => {
    const made = transaction(work)
    if (db.inTransaction) return made // a savepoint
    const immediate = () => {
      const result = made.immediate()
      events.push('commit')
      return result
    }
    return { immediate }
  }) as unknown as typeof db.transaction
  let ms = 0
  const writes = createStateWrites(db, () => (ms += stepMs))
  const insert = (n: number) => async () => {
    await writes.run(() => db.prepare('INSERT INTO x VALUES (?)').run(n))
    events.push(`answer ${n}`)
  }
  const rows = () => db.prepare('SELECT n FROM x ORDER BY n').pluck().all()
  return { db, writes, events, insert, rows }
}

t.test('state writes: those of one turn share a commit, and are answered after it', async (t) => {
  const { insert, events, rows, writes } = opened(t)
  await Promise.all([1, 2, 3].map((n) => insert(n)()))
  t.same(events, ['commit', 'answer 1', 'answer 2', 'answer 3'])
  t.same(rows(), [1, 2, 3])
  void insert(4)()
  await writes.settled()
  t.same(rows(), [1, 2, 3, 4])
  await writes.settled()
})

t.test('state writes: one that fails leaves nothing, and the others are stored', async (t) => {
  const { db, writes, insert, rows } = opened(t)
  const half = writes.run(() => {
    db.prepare('INSERT INTO x VALUES (7)').run()
    throw new AppError('STORE_EXISTS')
  })
  const others = [insert(1)(), insert(2)()]
  await rejectsWith(t, half, 'STORE_EXISTS')
  await Promise.all(others)
  t.same(rows(), [1, 2])
})

t.test('state writes: all of a group fail when its commit fails', async (t) => {
  const { db, insert, rows } = opened(t)
  const { transaction } = db
  db.transaction = (() => ({
    immediate: () => {
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
    },
  })) as unknown as typeof transaction
  const outcomes = await Promise.allSettled([insert(1)(), insert(2)()])
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  db.transaction = transaction
  await insert(3)()
  t.same(rows(), [3])
})

t.test(
  'state writes: a group ends after its time, and the event loop turns before the next one',
  async (t) => {
    const { insert, events, rows } = opened(t, 6)
    await Promise.all([1, 2, 3].map((n) => insert(n)()))
    t.same(rows(), [1, 2, 3])
    t.equal(events.filter((event) => event === 'commit').length, 2)
  },
)

t.test('sessions: many that are opened at once stay within the limit of the key', async (t) => {
  const state = await openState(':memory:')
  t.teardown(() => state.close())
  const keyId = '11111111-1111-4111-8111-111111111111'
  const secretHash = new Uint8Array(32)
  await state.keys.create({ keyId, name: 'k', scopes: ['admin'], secretHash, expiresAtUs: null })
  const open = (n: number) =>
    state.sessions.open({
      sessionId: `${n}`.padStart(36, '0'),
      tokenHash: new Uint8Array(32).fill(n),
      keyId,
      lifeS: 60,
      notAfterUs: null,
      mostOpen: 60,
    })
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => open(n)))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 60)
})

t.test('state writes: nothing of a group is stored once SQLite has ended its transaction', async (t) => {
  const db = openDatabase(':memory:', ['CREATE TABLE x (n INTEGER PRIMARY KEY) STRICT'])
  t.teardown(() => db.close())
  const writes = createStateWrites(db, () => 0)
  const insert = (n: number) => writes.run(() => db.prepare('INSERT INTO x VALUES (?)').run(n))
  await insert(1)
  const ending = writes.run(() => db.prepare('INSERT OR ROLLBACK INTO x VALUES (1)').run())
  const results = await Promise.allSettled([insert(2), ending, insert(3)])
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  t.same(db.prepare('SELECT n FROM x').pluck().all(), [1])
})
