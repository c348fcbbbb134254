import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { conformModelLists } from '../../../support/conformance/model-lists.js'
import { memoryState, START_MS } from '../../../support/memory-state.js'
import { model, testModelStorage, upstream } from '../../../support/model-rows-conformance.js'

t.test('model storage on SQLite in memory', async (t) => {
  await testModelStorage(t, memoryState)
  await conformModelLists(t, memoryState)
})

t.test('upstreams: the secret is not in the file in the clear, and another key cannot read it', async (t) => {
  const file = path.join(t.testdir(), 'state.db')
  const state = await openState(file, { keyring: createKeyring(randomBytes(32)) })
  t.teardown(() => state.close())
  const storeId = (await state.modelStores.create('rain'))?.storeId ?? 0
  await state.upstreams.create(upstream({ storeId, secret: 'the-secret-of-all' }))
  const [row] = state.stateDb.db.prepare('SELECT hex(secret) AS hex FROM upstream').all() as { hex: string }[]
  t.notMatch(Buffer.from(row?.hex ?? '', 'hex').toString('latin1'), /the-secret/)
  const unreadable: string[] = []
  const keyring = createKeyring(randomBytes(32), (context) => unreadable.push(context))
  const otherKey = await openState(file, { keyring })
  t.teardown(() => otherKey.close())
  const { upstreams } = otherKey
  t.match(await upstreams.find(1), { apikey: 'key', secret: null })
  await upstreams.create(upstream({ storeId, secret: 'readable' }))
  const query = { env: { timeZoneMin: 0, nowUs: 0n } }
  t.same(
    (await upstreams.list(query)).map(({ secret }) => secret),
    [null, 'readable'],
    'one unreadable secret is one unreadable secret',
  )
  t.same(unreadable, ['upstream.secret'], 'reported once')
  t.match(await upstreams.update(1, { alias: 'renamed' }), { alias: 'renamed', secret: null })
  t.match(
    await state.upstreams.find(1),
    { alias: 'renamed', secret: 'the-secret-of-all' },
    'a change of other members keeps the stored secret for its own key',
  )
  t.match(await upstreams.update(1, { secret: 'set again' }), { secret: 'set again' })
  t.match(await state.upstreams.find(1), { secret: null }, 'now it is of the other key')
  t.match(await state.upstreams.remove(1), { secret: null }, 'and can be removed')
  const withoutKey = await openState(file)
  t.teardown(() => withoutKey.close())
  await t.rejects(withoutKey.upstreams.find(2), /without a key/)
})

t.test('models: a damaged row is hidden with its reason, and the others are still listed', async (t) => {
  const state = await memoryState(t)
  const ids: string[] = []
  for (let i = 0; i < 3; i++)
    ids.push((await state.models.add(model(), { autoCreate: true, push: false }))?.model.modelId ?? '')
  const { db } = state.stateDb
  db.pragma('ignore_check_constraints = ON') // as a disk would do it
  db.prepare(`UPDATE model SET meta = '{"a":' WHERE model_id = ?`).run(ids[1])
  const { faults } = await state.models.quarantineBadRows(0, 100)
  t.match(faults, [{ modelId: ids[1], reason: 'its model_meta is not a JSON object' }])
  t.same((await state.models.quarantineBadRows(0, 100)).faults, [], 'reported once')
  const listed = await state.models.list(1, { env: { timeZoneMin: 0, nowUs: 0n } })
  t.same(
    listed.map((m) => m.modelId),
    [ids[0], ids[2]],
  )
  t.match(await state.models.counts(), { quarantined: 1 })
})

t.test('sync control: pause, wake and rate are seen by another connection', async (t) => {
  const file = path.join(t.testdir(), 'state.db')
  const [one, two] = [await openState(file), await openState(file)]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const [a, b] = [one.control, two.control]
  const before = await b.changeCount()
  await a.setPaused(true)
  await a.askNow()
  await a.setRate(1234.5)
  t.not(await b.changeCount(), before)
  t.same([await b.isPaused(), await b.wakeCount(), await b.rate()], [true, 1, 1235])
})

t.test('models: each way in which a row can be damaged has its reason', async (t) => {
  const state = await memoryState(t)
  const { db } = state.stateDb
  db.pragma('ignore_check_constraints = ON') // as a disk would do it
  const damage = [
    ["sha256 = 'X'", 'its SHA-256 is not 64 hex digits'],
    ["md5 = 'X'", 'its MD5 is not 32 hex digits'],
    ["meta = '[]'", 'its model_meta is not a JSON object'],
    ["chain = '[1]'", 'its chain is not a JSON array of node ids'],
    ["chain = '{'", 'its chain is not a JSON array of node ids'],
  ]
  for (const [set] of damage) {
    const added = await state.models.add(model(), { autoCreate: true, push: false })
    db.prepare(`UPDATE model SET ${set} WHERE model_id = ?`).run(added?.model.modelId)
  }
  const { faults } = await state.models.quarantineBadRows(0, 100)
  t.same(
    faults.map(({ reason }) => reason),
    damage.map(([, reason]) => reason),
  )
})

t.test('model stores: a long form that is the name of another store is not given', async (t) => {
  const { modelStores } = await memoryState(t)
  const seconds = START_MS / 1000
  const taken = `rain_${seconds}.000001` // the second reading of the clock
  t.ok(await modelStores.create(taken))
  t.match(await modelStores.create('rain'), { longForm: `rain_${seconds}.000002` })
  t.match(await modelStores.find(taken), { name: taken })
})

t.test('transfers: a feedback that failed is queued again, not added', async (t) => {
  const { models, modelStores, upstreams, transfers } = await memoryState(t)
  const storeId = (await modelStores.create('rain'))?.storeId ?? 0
  await upstreams.create(upstream({ storeId }))
  const added = await models.add(model(), { autoCreate: false, push: true })
  if (added === undefined) throw new Error('no model')
  const [id = 0] = added.transferIds
  await transfers.begin(id)
  await transfers.fail(id, { name: 'UPSTREAM_REFUSED', message: '422' })
  t.match(await transfers.queueFeedback(added.model, 1), { transferId: id, state: 'queued' })
  await transfers.begin(id)
  await transfers.deliver(id, '{"model_id":"u"}')
  t.match(await transfers.queueFeedback(added.model, 1), { transferId: id, state: 'delivered' })
})
