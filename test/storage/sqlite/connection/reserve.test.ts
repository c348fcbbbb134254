import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { AppError } from '../../../../src/errors.js'
import { createReserve, withReserve } from '../../../../src/storage/sqlite/connection/reserve.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { model } from '../../../support/model-rows-conformance.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const full = () => Promise.reject(new AppError('DISK_FULL'))

t.test('reserve: given up once for a deletion, and made again later', async (t) => {
  const file = path.join(t.testdir(), 'state.db')
  const reserve = createReserve(file)
  await rejectsWith(t, withReserve(reserve, full), 'DISK_FULL', {})
  reserve.refill()
  t.ok(existsSync(path.join(path.dirname(file), 'delete.reserve')))
  let tries = 0
  const second = async () => (++tries === 1 ? await full() : 'deleted')
  t.equal(await withReserve(reserve, second), 'deleted')
  t.equal(reserve.release(), false, 'it is gone')
  reserve.refill()
  t.equal(reserve.release(), true)
  const other = () => Promise.reject(new Error('of another kind'))
  reserve.refill()
  await t.rejects(withReserve(reserve, other), { message: 'of another kind' })
  t.equal(reserve.release(), true, 'and is kept for a full disk')
})

const isRoot = process.geteuid?.() === 0

t.test(
  'reserve: models are deleted on a disk with no byte free',
  { skip: isRoot ? false : 'mounts' },
  async (t) => {
    const dir = path.join(t.testdir(), 'small')
    mkdirSync(dir)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir])
    if (mounted.status !== 0) throw new Error(mounted.stderr.toString())
    t.teardown(() => spawnSync('umount', ['-l', dir]))
    const state = await openState(path.join(dir, 'state.db'))
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      const added = await state.models.add(model({ sha256: randomBytes(32).toString('hex') }), {
        autoCreate: true,
        push: false,
      })
      ids.push(added?.model.modelId ?? '')
    }
    await state.housekeep()
    state.stateDb.db.pragma('wal_checkpoint(TRUNCATE)') // no log that could be written over
    const left = () =>
      spawnSync('df', ['--output=avail', '-B1', dir]).stdout.toString().split('\n')[1]?.trim()
    for (let bytes = 1 << 20; bytes >= 1024; bytes >>= 1)
      for (let n = 0; n < 10; n++)
        try {
          writeFileSync(path.join(dir, `fill-${bytes}-${n}`), Buffer.alloc(bytes))
        } catch {
          break // full at this size
        }
    t.equal(left(), '0')
    await rejectsWith(t, state.meta.note('x', 'y'.repeat(9000)), 'DISK_FULL', {})
    for (const id of ids) t.ok(await state.models.remove(id), id)
    t.equal((await state.models.counts()).models, 0)
    await state.close()
  },
)
