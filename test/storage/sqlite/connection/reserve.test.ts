import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { AppError } from '../../../../src/errors.js'
import { openFile } from '../../../../src/storage/sqlite/connection/open-file.js'
import { createReserve, freeing } from '../../../../src/storage/sqlite/connection/reserve.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { model } from '../../../support/model-rows-conformance.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { cannotMount, smallDisk } from '../../../support/small-disk.js'

t.test('reserve: given up for a deletion that finds no space in the log, and made again later', async (t) => {
  const dir = t.testdir()
  const db = openFile(path.join(dir, 'state.db'))
  t.teardown(() => db.close())
  db.pragma('journal_mode = WAL')
  const reserve = createReserve(db.name)
  const file = path.join(dir, 'delete.reserve')
  let tries = 0
  const fullFor = (count: number) => () => {
    if (++tries <= count) throw new AppError('DISK_FULL')
    return 'deleted'
  }
  await rejectsWith(t, freeing(db, fullFor(9)), 'DISK_FULL')
  t.equal(tries, 3)
  await reserve.refill()
  t.ok(existsSync(file))
  tries = 0
  t.equal(await freeing(db, fullFor(1)), 'deleted')
  t.ok(existsSync(file), 'the space of the log is used first')
  tries = 0
  t.equal(await freeing(db, fullFor(2)), 'deleted')
  t.equal(reserve.release(), false, 'it is gone')
  await reserve.refill()
  await t.rejects(
    freeing(db, () => Promise.reject(new Error('of another kind'))),
    { message: 'of another kind' },
  )
  t.equal(reserve.release(), true, 'and is kept for a full disk')
})

t.test('reserve: an error of the log other than a full disk is reported', async (t) => {
  const db = openFile(path.join(t.testdir(), 'state.db'))
  t.teardown(() => db.close())
  db.pragma('journal_mode = WAL')
  const work = () => {
    db.exec('BEGIN; CREATE TABLE x (n)') // the log cannot be moved inside a transaction
    throw new AppError('DISK_FULL')
  }
  await t.rejects(freeing(db, work), { code: 'SQLITE_LOCKED' })
})

t.test('reserve: models are deleted on a disk with no byte free', { skip: cannotMount }, async (t) => {
  const { dir, fill } = smallDisk(t, '16m')
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
  t.equal(fill(), '0')
  await rejectsWith(t, state.meta.note('x', 'y'.repeat(9000)), 'DISK_FULL', {})
  for (const id of ids) t.ok(await state.models.remove(id), id)
  t.equal((await state.models.counts()).models, 0)
  await state.close()
})

t.test('reserve: deletions go on when their logs are larger than it', { skip: cannotMount }, async (t) => {
  const { dir, fill } = smallDisk(t, '32m')
  const state = await openState(path.join(dir, 'state.db'))
  const ids: string[] = []
  for (let n = 0; n < 800; n++) {
    const meta = JSON.stringify({ text: 'x'.repeat(8000) })
    const added = await state.models.add(model({ sha256: randomBytes(32).toString('hex'), meta }), {
      autoCreate: true,
      push: false,
    })
    ids.push(added?.model.modelId ?? '')
  }
  await state.housekeep()
  state.stateDb.db.pragma('wal_checkpoint(TRUNCATE)')
  t.equal(fill(), '0')
  for (const id of ids) await state.models.remove(id)
  t.equal((await state.models.counts()).models, 0)
  await state.housekeep()
  await state.close()
})
