import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { type PackAggregatedDeps, packAggregated } from '../../src/bundles/write-aggregated.js'
import type { NodePeer } from '../../src/storage/exchange/node-keys.js'
import { type Applied, applied, introduce, startBundleNode } from '../support/bundles.js'
import { connect, FL, MODELS, modelsOf, putModel } from '../support/models.js'
import type { TestGateway } from '../support/start-gateway.js'

const ENDPOINT = 'http://127.0.0.1:9' // nothing listens there

/** Puts an aggregated model. @returns its id and digest */
async function aggregate(gateway: TestGateway, round: number, size = 1000) {
  const method = 'model_store.model.put_aggregated'
  const { body } = await putModel(gateway, randomBytes(size), {
    method,
    data: { round, model_meta: { round } },
  })
  return { id: body.model_id as string, sha256: body.model_sha256 as string }
}

/** Two gateways that know each other; models of the first go to the second, and nothing goes over a network. */
async function setUp(t: Parameters<typeof startBundleNode>[0] & { testdir(): string }) {
  const dir = t.testdir()
  const van = await startBundleNode(t, dir, 'van', { limits: { modelBytes: 100_000 } })
  const base = await startBundleNode(t, dir, 'base')
  await introduce(dir, base, van, ['--endpoint', ENDPOINT])
  await connect(van.gateway, { url: ENDPOINT, admin: base.gateway.admin })
  const fileOf = (name: string) => path.join(dir, name)
  const fetched = async () =>
    (await modelsOf(van.gateway, { conds: { '=': ['model_state', 40] }, order: '-end_datetime' })).map(
      ({ model_sha256 }) => model_sha256 as string,
    )
  return {
    ...{ van, base, fetched },
    /** Tells the second what the first wants and has. */
    async tell(name: string) {
      await van.bundle(['write', fileOf(name)])
      await applied(base, fileOf(name))
    },
    write: async (name: string, flags: string[] = []) => await base.bundle(['write', fileOf(name), ...flags]),
    apply: async (name: string, code = 0): Promise<Applied['bundles'][number]['models']> => {
      const [first] = (await applied(van, fileOf(name), code)).bundles
      if (first === undefined) throw new Error('no bundle')
      return first.models
    },
  }
}

t.test('bundles: the newest aggregated model comes down, once, to who asks for it', async (t) => {
  const { van, base, fetched, tell, write, apply } = await setUp(t)
  const first = await aggregate(base.gateway, 1)
  t.match(await write('0'), /0 models/, 'nobody has asked for it')
  await tell('to 1')
  t.match(await write('2', ['--max-bytes', '2000']), /0 models.*left for the next bundle: 1 models/)
  t.match(await write('3'), /: 0 rows, 1 models/)
  t.match(await apply('3'), { taken: 1, known: 0, refused: [] })
  t.match(await modelsOf(van.gateway), [
    ...[{ model_state: 40, model_sha256: first.sha256, round: 1, hop_count: 1, model_meta: { round: 1 } }],
  ])
  t.match(await apply('3'), { taken: 0, known: 1 }, 'again')
  t.match(await write('4'), /1 models/, 'until it is told')
  await tell('to 2')
  t.match(await write('5'), /0 models/)
  t.same(await fetched(), [first.sha256])
})

t.test('bundles: an aggregated model never replaces a newer one, in any order', async (t) => {
  const { van, base, fetched, tell, write, apply } = await setUp(t)
  await tell('to 1')
  const second = await aggregate(base.gateway, 2)
  await write('2')
  const third = await aggregate(base.gateway, 3)
  await write('3')
  t.match(await apply('3'), { taken: 1 })
  t.match(await apply('2'), { taken: 0, known: 1 })
  t.same(await fetched(), [third.sha256])

  // the base forgets the one that the van has: it cannot know that it is older before the van tells
  const { body } = await base.gateway.call(MODELS, 'model_store.model.delete', { model_id: third.id })
  t.equal(body.error, undefined)
  const fourth = await aggregate(base.gateway, 4)
  await write('4')
  t.match(await apply('4'), { taken: 0, known: 1 })
  await tell('to 4')
  await write('5')
  t.match(await apply('5'), { taken: 1 })
  t.same(await fetched(), [fourth.sha256, third.sha256])
  t.not(second.sha256, fourth.sha256)

  await aggregate(base.gateway, 5, 200_000)
  await write('6')
  t.match((await apply('6', 1)).refused, [
    /aggregated model of rain: Found 200000 bytes, expected at most 100000/,
  ])
  const [upstream] = (await van.gateway.call(FL, 'fl.list_upstream_info', {})).body.result
  await van.gateway.call(FL, 'fl.delete_upstream_info', { id: upstream.id })
  t.match((await apply('6', 1)).refused, [
    /expected an upstream of a model store here with that name at base/,
  ])
})

t.test('bundles: no aggregated model goes to a node that may not read models here', async (t) => {
  const packed = { transfers: [], aggregated: 0, left: 0, refused: [] }
  const deps = {
    bundles: { wishes: async () => [{ store: 'rain', has: null }] },
    stores: { find: async () => ({ storeId: 1 }) },
    models: { list: async () => [{ sha256: 'a', isDamaged: false }] },
    mayReadModels: async () => false,
    env: () => ({ timeZoneMin: 0, nowUs: 0n }),
  } as unknown as PackAggregatedDeps
  const parts = packAggregated(deps, { nodeId: 'n', name: 'van' } as NodePeer, {
    budget: { left: 1e6 },
    packed,
  })
  t.equal((await parts.next()).done, true)
  t.same(packed.refused, ['aggregated models of rain: van may not read models here'])
})
