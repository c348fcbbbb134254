import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openDatabase, retryBusy } from '../../../../src/storage/sqlite/connection/database.js'
import {
  copyDatabases,
  isReadOnlyDisk,
  openPlain,
} from '../../../../src/storage/sqlite/connection/snapshot.js'
import { readDatabaseFacts } from '../../../../src/storage/sqlite/maintenance/database-facts.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const SCHEMA = ['CREATE TABLE n (id INTEGER PRIMARY KEY, pad BLOB) STRICT']

/** Two databases that are written to in turns: the first is always as far as the second, or one row ahead. */
function twoDatabases(dir: string) {
  const files = ['data.db', 'state.db'].map((name) => path.join(dir, name))
  const open = files.map((file) => openDatabase(file, SCHEMA))
  const insert = open.map((db) => db.prepare('INSERT INTO n (pad) VALUES (randomblob(4000))'))
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      for (const statement of insert) {
        await retryBusy(() => statement.run())
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  })()
  const pairs = files.map((from) => ({ from, to: `${from}.copy` }))
  const count = (file: string) => readDatabaseFacts(file).rows.n ?? 0
  return {
    ...{ pairs, count, open },
    async stop() {
      isOver = true
      await writing
      for (const db of open) db.close()
    },
  }
}

t.test(
  'snapshot: databases that are written to all the time are copied as they were at one instant',
  async (t) => {
    const { pairs, count, stop, open } = twoDatabases(t.testdir())
    for (let i = 0; i < 3; i++) {
      while (Number(open[1]?.prepare('SELECT count(*) FROM n').pluck().get()) < 100 * (i + 1))
        await new Promise((resolve) => setImmediate(resolve))
      const seen: number[] = []
      const copies = pairs.map(({ from, to }) => ({ from, to: `${to}${i}` }))
      await copyDatabases(copies, { bytesPerSecond: 0, onProgress: (done, total) => seen.push(done / total) })
      const [data = 0, state = 0] = copies.map(({ to }) => count(to))
      t.ok(state >= 100 * (i + 1), 'every row before the copy is in it')
      t.ok(data === state || data === state + 1, `found ${data} and ${state} rows`)
      for (const { to } of copies) {
        const db = openPlain(to, true)
        t.equal(db.pragma('journal_mode', { simple: true }), 'delete', 'a plain file')
        t.same(db.pragma('integrity_check'), [{ integrity_check: 'ok' }])
        db.close()
      }
      t.same(
        seen,
        seen.toSorted((a, b) => a - b),
      )
    }
    await stop()
  },
)

t.test('snapshot: it can be told to end, and waits for a writer', async (t) => {
  const { pairs, stop, open } = twoDatabases(t.testdir())
  const ended = AbortSignal.abort()
  await rejectsWith(t, copyDatabases(pairs, { bytesPerSecond: 1, signal: ended }), 'CANCELLED')
  await stop()
  const [first] = pairs
  if (first === undefined) throw new Error('there are two')
  const writer = openPlain(first.from, false)
  writer.exec('BEGIN IMMEDIATE; DELETE FROM n')
  const copying = copyDatabases([{ from: first.from, to: `${first.to}.late` }], { bytesPerSecond: 0 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  writer.exec('COMMIT')
  writer.close()
  await copying
  t.equal(readDatabaseFacts(`${first.to}.late`).rows.n, 0)
  t.ok(open.every((db) => !db.open))
})

t.test('snapshot: a large database is copied whole, also at a limited rate', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const db = openDatabase(file, SCHEMA)
  db.exec('INSERT INTO n (pad) VALUES (randomblob(9000000))')
  const pad = db.prepare('SELECT pad FROM n').pluck().get()
  db.close()
  const seen: number[] = []
  await copyDatabases([{ from: file, to: `${file}.copy` }], {
    bytesPerSecond: 1e12, // the thread sleeps less than a millisecond
    onProgress: (done, total) => seen.push(done / total),
  })
  t.ok(seen.length > 5, `${seen.length} steps`)
  t.same(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  const copy = openPlain(`${file}.copy`, true)
  t.teardown(() => copy.close())
  t.same(copy.prepare('SELECT pad FROM n').pluck().get(), pad)
})

t.test('snapshot: under a limit a step is a tenth of a second, and the thread sleeps between', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const db = openDatabase(file, SCHEMA)
  db.exec('INSERT INTO n (pad) VALUES (randomblob(1000000))')
  const pages = Number(db.pragma('page_count', { simple: true }))
  const pageBytes = Number(db.pragma('page_size', { simple: true }))
  db.close()
  const copy = async (bytesPerSecond: number) => {
    const seen: number[] = []
    const from = performance.now()
    await copyDatabases([{ from: file, to: `${file}.${bytesPerSecond}` }], {
      bytesPerSecond,
      onProgress: (done) => seen.push(done / pageBytes),
    })
    return { seen, tookMs: performance.now() - from }
  }
  const limited = await copy(1000 * pageBytes)
  const steps = limited.seen.slice(1).map((done, i) => done - (limited.seen[i] ?? 0))
  t.ok(Math.max(...steps) <= 100, `${steps} pages`)
  const slept = Math.max(...limited.seen) // ms: a page each
  t.ok(limited.tookMs >= slept - 1, 'no faster than the limit')
  t.ok((await copy(0)).seen.length < limited.seen.length, `${pages} pages in larger steps without`)
})

t.test('snapshot: of several databases one is missing: nothing is copied, and no lock is left', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'a.db')
  const db = openDatabase(file, SCHEMA)
  t.teardown(() => db.close())
  const names = [file, path.join(dir, 'b.db')]
  const copying = copyDatabases(
    names.map((from) => ({ from, to: `${from}.copy` })),
    { bytesPerSecond: 0 },
  )
  await t.rejects(copying, { code: 'SQLITE_CANTOPEN' })
  db.exec('INSERT INTO n (pad) VALUES (NULL)')
  t.same(
    readdirSync(dir).filter((name) => name.endsWith('.copy')),
    [],
  )
})

t.test('isReadOnlyDisk: a file that is missing or may be written lies on no read-only disk', async (t) => {
  const file = path.join(t.testdir({ 'a.db': '' }), 'a.db')
  t.equal(isReadOnlyDisk(file), false)
  t.equal(isReadOnlyDisk(`${file}.none`), false)
})
