import t, { type Test } from 'tap'
import { AppError } from '../../../../src/errors.js'
import { type Db, openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { createGroupCommit } from '../../../../src/storage/sqlite/tables/group-commit.js'
import { createWriteLock } from '../../../../src/storage/work/write-lock.js'
import { rejectsWith } from '../../../support/rejects-with.js'

/** A database that counts its commits. */
function openCounted(t: Test) {
  const db = openDatabase(':memory:', ['CREATE TABLE x (n INTEGER PRIMARY KEY) STRICT'])
  t.teardown(() => db.close())
  const said: string[] = []
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    said.push(sql)
    return exec(sql)
  }
  const rows = () => db.prepare('SELECT n FROM x ORDER BY n').pluck().all()
  return { db, rows, commits: () => said.filter((sql) => sql === 'COMMIT').length }
}

/** A clock of a machine without load: no group ends by its time. */
const stopped = () => 0

const insert = (db: Db, n: number) => async () => {
  db.prepare('INSERT INTO x VALUES (?)').run(n)
  return n
}

t.test('group commit: calls that wait together are committed together, each with its result', async (t) => {
  const { db, rows, commits } = openCounted(t)
  const lock = createWriteLock()
  const { run: together } = createGroupCommit(db, lock, stopped)
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => together('k', insert(db, n))))
  t.same(
    all,
    Array.from({ length: 50 }, (_, n) => n),
  )
  t.equal(rows().length, 50)
  t.equal(commits(), 1)
  t.equal(await together('k', insert(db, 50)), 50)
  t.equal(commits(), 2)
})

t.test('group commit: one that fails leaves nothing, and the others are stored', async (t) => {
  const { db, rows, commits } = openCounted(t)
  const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
  const half = async () => {
    await insert(db, 7)()
    throw new AppError('RECORD_EXISTS')
  }
  const outcomes = await Promise.allSettled([
    together('k', insert(db, 1)),
    together('k', half),
    together('k', insert(db, 2)),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(rows(), [1, 2])
  t.equal(commits(), 1)
  await rejectsWith(t, together('k', half), 'RECORD_EXISTS')
  t.same(rows(), [1, 2])
})

t.test('group commit: one that begins alone has no savepoint, and fails alone', async (t) => {
  const { db, rows, commits } = openCounted(t)
  const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
  const said: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => {
    said.push(sql)
    return prepare(sql)
  }) as typeof db.prepare
  t.equal(await together('k', insert(db, 1)), 1)
  t.notOk(said.some((sql) => sql.startsWith('SAVEPOINT')))
  let others: Promise<number>[] = []
  const failing = together('k', async () => {
    await insert(db, 2)()
    others = [3, 4].map((n) => together('k', insert(db, n)))
    throw new AppError('RECORD_EXISTS')
  })
  await rejectsWith(t, failing, 'RECORD_EXISTS')
  t.same(await Promise.all(others), [3, 4], 'those that came meanwhile are stored')
  t.same(rows(), [1, 3, 4])
  const first = together('k', async () => {
    others = [together('k', insert(db, 6))]
    return await insert(db, 5)()
  })
  t.equal(await first, 5)
  t.same(await Promise.all(others), [6])
  t.equal(commits(), 3, 'one that comes while the first runs is in its group')
})

t.test('group commit: no caller is answered before the commit, and all fail when it fails', async (t) => {
  const { db, rows } = openCounted(t)
  const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
  const exec = db.exec
  db.exec = (sql) => {
    if (sql === 'COMMIT') throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
    return exec(sql)
  }
  const refused = () => Promise.reject(new AppError('BAD_RECORD'))
  const calls = [together('k', insert(db, 1)), together('k', insert(db, 2)), together('k', refused)]
  const reasons = (await Promise.allSettled(calls)).map((outcome) =>
    outcome.status === 'rejected' ? String(outcome.reason.message) : 'stored',
  )
  t.match(reasons, [/disk I\/O/, /disk I\/O/, /record does not fit/])
  t.same(rows(), [])
  db.exec = exec
  t.equal(await together('k', insert(db, 3)), 3, 'the next group is its own')
  t.same(rows(), [3])
})

t.test('group commit: a transaction that SQLite ended itself stores nothing of the group', async (t) => {
  const { db, rows } = openCounted(t)
  const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
  const full = async () => {
    db.exec('ROLLBACK') // as SQLite may do when the disk is full
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  }
  const first = together('k', insert(db, 1))
  const second = together('k', full)
  const third = together('k', insert(db, 3))
  await t.rejects(first, /disk/i)
  await t.rejects(second, /disk/i)
  t.equal(await third, 3, 'it had not run yet')
  t.same(rows(), [3])
})

t.test('group commit: other holders of the lock have their turn between groups', async (t) => {
  const { db } = openCounted(t)
  const lock = createWriteLock()
  const { run: together } = createGroupCommit(db, lock)
  const order: string[] = []
  const slow = async () => {
    await new Promise((resolve) => setTimeout(resolve, 60)) // longer than a group takes calls
    order.push('slow')
  }
  const all = [together('k', slow), together('k', slow), lock.run(() => void order.push('other'))]
  await Promise.all(all)
  t.same(order, ['slow', 'other', 'slow'])
})

t.test('group commit: the event loop turns between the answers of a large group', async (t) => {
  const { db } = openCounted(t)
  const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
  let turns = 0
  const turn = setInterval(() => turns++, 0)
  t.teardown(() => clearInterval(turn))
  const turnOf = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      await together('k', insert(db, n))
      const endMs = performance.now() + 4 // as long as an answer of a busy board
      while (performance.now() < endMs);
      return turns
    }),
  )
  t.ok(new Set(turnOf).size >= 5, `answered in ${new Set(turnOf).size} turns`)
})

t.test('group commit: owners have turns, whatever the number of their calls', async (t) => {
  const { db, commits } = openCounted(t)
  const clock = { ms: 0 }
  const { run: together } = createGroupCommit(db, createWriteLock(), () => clock.ms)
  const order: string[] = []
  const call = (owner: string) =>
    together(owner, async () => {
      order.push(owner)
      clock.ms += 6 // a group takes calls for 20 ms
    })
  await Promise.all([...Array.from({ length: 9 }, () => call('many')), call('single'), call('other')])
  t.same(order.slice(0, 4), ['many', 'single', 'other', 'many'])
  t.equal(order.length, 11)
  t.equal(commits(), 3, 'four calls of 6 ms are a group')
})

t.test(
  'group commit: all that wait fail when the transaction cannot begin, and later ones are stored',
  async (t) => {
    const { db, rows } = openCounted(t)
    const { run: together } = createGroupCommit(db, createWriteLock(), stopped)
    const exec = db.exec
    db.exec = (sql) => {
      if (sql === 'BEGIN IMMEDIATE')
        throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' })
      return exec(sql)
    }
    const outcomes = await Promise.allSettled([
      together('k', insert(db, 1)),
      together('k', insert(db, 2)),
      together('other', insert(db, 3)),
    ])
    t.same(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message),
      Array(3).fill('disk I/O error'),
    )
    db.exec = exec
    t.equal(await together('k', insert(db, 4)), 4)
    t.same(rows(), [4])
  },
)

t.test('group commit: tells how long the last commit took', async (t) => {
  const { db } = openCounted(t)
  let nowMs = 0
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql === 'COMMIT') nowMs += 70
    return exec(sql)
  }
  const { run, commitMs } = createGroupCommit(db, createWriteLock(), () => nowMs)
  t.equal(commitMs(), 0)
  await run('k', insert(db, 1))
  t.equal(commitMs(), 70)
})
