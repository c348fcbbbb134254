import { randomBytes, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { createUpstreamRows } from '../../../../src/storage/postgres/models/upstreams.js'
import { conformModelLists } from '../../../support/conformance/model-lists.js'
import { model, testModelStorage, upstream } from '../../../support/model-rows-conformance.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

const skip = noPostgres()
const QUIET = { autoCreate: true, push: false }

t.test('models and transfers on PostgreSQL', { skip }, async (t) => {
  const open = await postgresStates(t)
  await testModelStorage(t, open)
  await conformModelLists(t, open)
  await testProcesses(t, open)

  await t.test('a damaged row is hidden with its reason', async (t) => {
    const { db, models } = await open(t)
    const ids: string[] = []
    for (let i = 0; i < 2; i++) ids.push((await models.add(model(), QUIET))?.model.modelId ?? '')
    await db.write(async (rows) => {
      await rows.run('ALTER TABLE model DROP CONSTRAINT model_meta_check') // as a disk would do it
      await rows.run(`UPDATE model SET meta = '[]' WHERE model_id = $1`, ids[0] ?? '')
    })
    const reason = 'its model_meta is not a JSON object'
    t.match(await models.quarantineBadRows(0, 10), { faults: [{ modelId: ids[0], reason }] })
    t.same((await models.quarantineBadRows(0, 10)).faults, [])
    t.equal(await models.find(ids[0] ?? ''), undefined)
    t.match(await models.counts(), { models: 2, quarantined: 1 })
  })

  await t.test('a secret of another key file is null, and stays what it is', async (t) => {
    const { db, clock, modelStores, upstreams } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    const { upstreamId } = await upstreams.create(upstream({ storeId, secret: 'hush' }))
    const other = createUpstreamRows(db, clock, createKeyring(randomBytes(32)))
    t.match(await other.update(upstreamId, { alias: 'x' }), { alias: 'x', secret: null })
    t.match(await upstreams.find(upstreamId), { alias: 'x', secret: 'hush' })
  })
})

t.test('the same where the answers of commits are lost', { skip }, async (t) => {
  const open = await postgresStates(t, (commits) => commits % 2 === 1)
  await testModelStorage(t, open)
  await conformModelLists(t, open)
})

/** What several processes of a hub do at once. */
async function testProcesses(t: Test, open: Awaited<ReturnType<typeof postgresStates>>): Promise<void> {
  await t.test('an origin is registered once, and a store is made once, by all processes', async (t) => {
    const a = await open(t)
    const b = await a.another()
    const origin = { node: randomUUID(), modelId: randomUUID() }
    const added = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? a : b).models.add(model({ origin, state: 20 }), QUIET),
      ),
    )
    t.equal(added.filter((one) => one?.isRepeat === false).length, 1)
    t.equal(new Set(added.map((one) => one?.model.modelId)).size, 1)
    t.match(await b.models.counts(), { models: 1 })
    const names = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? a : b).modelStores.create('s')),
    )
    t.equal(names.filter((one) => one !== undefined).length, 1)
  })

  await t.test(
    'a store that is removed while models are added: they are in it, or in a new one',
    async (t) => {
      const a = await open(t)
      const b = await a.another()
      for (let round = 0; round < 5; round++) {
        const adding = Promise.all(Array.from({ length: 6 }, () => a.models.add(model(), QUIET)))
        await Promise.all([adding, b.modelStores.remove('rain')])
      }
      const [counted] = await a.db.read.all<{ n: number }>(
        'SELECT count(*) AS n FROM model WHERE store_id NOT IN (SELECT store_id FROM model_store)',
      )
      t.equal(counted?.n, 0)
    },
  )

  await t.test(
    'a transfer is begun once; a fetch of an upstream waits once; a removal is answered once',
    async (t) => {
      const a = await open(t)
      const b = await a.another()
      const storeId = (await a.modelStores.create('rain'))?.storeId ?? 0
      const { upstreamId } = await a.upstreams.create(upstream({ storeId }))
      const both = <T>(work: (state: typeof a) => Promise<T>) => Promise.all([a, b, a, b].map(work))
      const fetches = await both(({ transfers }) => transfers.queueFetch(storeId, upstreamId))
      t.equal(new Set(fetches.map(({ transferId }) => transferId)).size, 1)
      const id = fetches[0]?.transferId ?? 0
      const begun = await both(({ transfers }) => transfers.begin(id))
      t.equal(begun.filter((one) => one).length, 1)
      const added = await a.models.add(model(), QUIET)
      const removed = await both(({ models }) => models.remove(added?.model.modelId ?? ''))
      t.equal(removed.filter((one) => one !== undefined).length, 1)
      const before = await b.control.changeCount()
      t.equal(await b.control.changeCount(), before)
      await a.control.setPaused(true)
      t.not(await b.control.changeCount(), before)
    },
  )
}
