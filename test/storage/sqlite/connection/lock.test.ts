import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createSweepLease } from '../../../../src/storage/sqlite/connection/lease.js'
import { isDirectoryLocked, lockDirectory } from '../../../../src/storage/sqlite/connection/lock.js'

t.test('lock: a directory is served by one gateway, and free again after it', async (t) => {
  const file = path.join(t.testdir(), 'lock.db')
  const lock = lockDirectory(file)
  t.throws(
    () => lockDirectory(file),
    /^another gateway serves this data directory .* choose another --data-dir$/,
  )
  lock.release()
  lockDirectory(file).release()
})

t.test('lock: a holder that was killed leaves nothing behind', async (t) => {
  const file = path.join(t.testdir(), 'lock.db')
  const script = `
    const db = new (require('better-sqlite3'))(${JSON.stringify(file)})
    db.exec('BEGIN EXCLUSIVE')
    process.stdout.write('held')
    setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  t.throws(() => lockDirectory(file), /another gateway/)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  lockDirectory(file).release()
})

t.test('lock: a file that is no lock file is named, with what to do', async (t) => {
  const file = path.join(t.testdir({ 'lock.db': 'garbage'.repeat(1000) }), 'lock.db')
  const expected =
    /^\/.*lock\.db is not a lock file \(file is not a database\): it holds no data; stop .*, remove the file, and start again$/
  t.throws(() => lockDirectory(file), expected)
  t.throws(() => isDirectoryLocked(file), expected)
  await t.rejects(createSweepLease(file).keep(), expected)
  await t.rejects(createSweepLease(file).remove(), expected)
  writeFileSync(file, '')
  lockDirectory(file).release()
})
