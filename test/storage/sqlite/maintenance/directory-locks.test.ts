import { chmodSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createDirectoryLocks } from '../../../../src/storage/sqlite/maintenance/directory-locks.js'

t.test('lock: one holder at a time; isLocked without taking the lock', async (t) => {
  const dir = t.testdir()
  const locks = createDirectoryLocks()
  t.equal(await locks.isLocked(dir), false, 'no lock file yet')
  const first = await locks.lock(dir)
  if (!('lock' in first)) throw new Error(`found ${first.fault}, expected a lock`)
  t.equal(await locks.isLocked(dir), true)
  t.match(await locks.lock(dir), { fault: 'held' })
  await first.lock.release()
  t.equal(await locks.isLocked(dir), false)
  const second = await locks.lock(dir)
  t.ok('lock' in second)
  if ('lock' in second) await second.lock.release()
})

t.test('lock: a directory that does not exist is an error, not a fault', async (t) => {
  await t.rejects(createDirectoryLocks().lock(path.join(t.testdir(), 'none')), { code: 'ENOENT' })
})

const isRoot = process.geteuid?.() === 0

t.test('lock: unwritable where the user has no permission', async (t) => {
  const dir = t.testdir()
  chmodSync(dir, 0o500)
  t.teardown(() => chmodSync(dir, 0o700))
  if (isRoot) process.seteuid?.(12_345) // root may write everywhere
  try {
    t.match(await createDirectoryLocks().lock(dir), { fault: 'unwritable' })
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

t.test('sweepLease: a removal is refused while bytes are kept', async (t) => {
  const lease = createDirectoryLocks().sweepLease(t.testdir())
  const release = await lease.keep()
  t.equal(await lease.remove(), undefined)
  await release()
  const removal = await lease.remove()
  t.ok(removal !== undefined)
  await removal?.release()
})
