import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createSweepLease } from '../../../../src/storage/sqlite/connection/lease.js'

const isRoot = process.geteuid?.() === 0

t.test('lease: many keep at once, and nobody removes meanwhile', async (t) => {
  const file = path.join(t.testdir(), 'lease.db')
  const lease = createSweepLease(file)
  const first = await lease.keep()
  const second = await createSweepLease(file).keep()
  t.equal(await lease.remove(), undefined)
  await first()
  t.equal(await lease.remove(), undefined)
  await second()
  const ended = await lease.remove()
  await ended?.confirm()
  await ended?.release()
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('lease: a file that is no database, or cannot be made, is an error and not a refusal', async (t) => {
  const dir = t.testdir({
    'lease.db': 'neither SQLite nor empty, and longer than a header of a database file'.repeat(3),
  })
  for (const action of ['keep', 'remove'] as const) {
    await t.rejects(
      createSweepLease(path.join(dir, 'lease.db'))[action]() as Promise<unknown>,
      /lease\.db is not a lock file/,
      action,
    )
    await t.rejects(
      createSweepLease(path.join(dir, 'none/lease.db'))[action]() as Promise<unknown>,
      { code: 'ENOENT' },
      action,
    )
  }
  t.notOk(existsSync(path.join(dir, 'none')))
})

t.test(
  'lease: made by root, the file belongs to the owner of the directory',
  { skip: !isRoot },
  async (t) => {
    const dir = path.join(t.testdir(), 'data')
    mkdirSync(dir)
    chownSync(dir, 12_345, 23_456)
    const end = await createSweepLease(path.join(dir, 'lease.db')).keep()
    await end()
    const { uid, gid } = statSync(path.join(dir, 'lease.db'))
    t.same([uid, gid], [12_345, 23_456])
  },
)
