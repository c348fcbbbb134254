import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import t, { type Test } from 'tap'
import { API_PATHS } from '../../../../src/gateway/apis.js'
import { FEED_SETTINGS, until } from '../../../support/feeds.js'
import { ENV } from '../../../support/fleet.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../../support/hub.js'
import { connect, DATA, FL, MODELS, modelsOf, putModel, transfersOf } from '../../../support/models.js'
import { cli } from '../../../support/run-cli.js'
import { type KeyPair, pairHeaders, startGateway } from '../../../support/start-gateway.js'

const skip = noHub()
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
/** Larger than one piece of a resumable upload, and of no whole number of them. */
const BYTES = randomBytes(9_000_001)

interface Model {
  readonly model_id: string
  readonly model_sha256: string
  readonly model_size: number
  readonly model_state: number
}

/** Starts a hub of two processes. `start` starts a gateway. */
async function setUp(t: Test) {
  const place = await makeHub(t, await startEngines(t))
  const admin: KeyPair = JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout)
  const headers = pairHeaders(admin)
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const start = (name: string) =>
    startGateway(t, {
      dataDir: path.join(place.dir, name),
      settings: { ...FEED_SETTINGS, fleet: { reportS: 0.1 } },
    })
  const atHub = async (): Promise<Model[]> => {
    const params = { model_store_ddc: 'rain', order: 'start_datetime' }
    const { body } = await hubCall(two, headers, MODELS, 'model_store.model.get_info', params)
    if (body.result === undefined && body.error.data.name !== 'UNKNOWN_STORE')
      throw new Error(body.error.message)
    return body.result ?? []
  }
  const download = async (url: string, modelId: string) => {
    const file = await fetch(`${url}/api/v2/model_store/models/${modelId}/file`, { headers })
    return { etag: file.headers.get('etag'), bytes: Buffer.from(await file.arrayBuffer()) }
  }
  /** Both processes of the hub have the bytes, under the digest that they have here. */
  const hasBytes = async (t: Test, model: Model | undefined, bytes: Uint8Array) => {
    for (const { url } of [one, two]) {
      const file = await download(url, model?.model_id ?? '')
      t.ok(file.bytes.equals(bytes), 'the bytes of the gateway')
      t.match(file.etag, sha256Of(bytes))
    }
  }
  return { ...{ dir: place.dir, admin, headers, one, two }, ...{ start, atHub, hasBytes } }
}

t.test('hub: gateways send models through their outboxes', { skip }, async (t) => {
  const { dir, admin, headers, one, two, start, atHub, hasBytes } = await setUp(t)
  const van = await start('van')
  let sent = ''

  await t.test('a member sends what its profile says, without being asked', async (t) => {
    const profile = { model_stores: [{ store: 'rain' }] }
    const fleet = (method: string, params: object) => hubCall(one, headers, API_PATHS.fleet, method, params)
    await fleet('fleet.set_profile', { name: 'field', profile })
    const { body } = await fleet('fleet.create_token', { profile: 'field' })
    const argv = ['join', two.url, '--token', body.result.text, '--name', 'van', '--data-dir', van.dataDir]
    const joined = await cli(dir, argv, ENV)
    t.equal(joined.code, 0, joined.stderr)
    await until(
      async () => (await van.call(FL, 'fl.list_upstream_info')).body.result,
      (found) => found?.length === 1,
    )
    sent = (await putModel(van, BYTES, { data: { model_meta: { exact: 1, round: 3 } } })).body.model_id
    const [model] = await until(atHub, (found) => found.length === 1)
    const facts = { model_sha256: sha256Of(BYTES), model_size: BYTES.length, model_state: 20, hop_count: 1 }
    t.match(model, { ...facts, model_kind: DATA.model_kind, model_meta: { exact: 1, round: 3 } })
    t.not(model?.model_id, sent, 'the hub gives an id of its own')
    await hasBytes(t, model, BYTES)
    await until(
      () => transfersOf(van),
      ([first]) => first?.state === 'delivered',
    )
    t.match(await transfersOf(van), [
      { kind: 'feedback', model_id: sent, bytes_sent: BYTES.length, bytes_saved: 0 },
    ])
  })

  await t.test('the same model once more is the one that the hub has', async (t) => {
    const [model] = await atHub()
    const again = await van.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: sent })
    t.equal(again.body.result.model_id, model?.model_id)
    t.equal((await transfersOf(van)).length, 1)
    await connect(van, { url: one.url, admin }, { alias: 'other process' }) // sends it again, with another key
    const twice = await van.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: sent })
    t.notOk(twice.body.error, JSON.stringify(twice.body.error))
    const transfers = await transfersOf(van, { order: 'id' })
    t.match(transfers, [{ state: 'delivered' }, { state: 'delivered', bytes_saved: BYTES.length }])
    t.same(await atHub(), [model], 'one row')
  })

  await t.test('the same bytes of another gateway are a model of their own, stored once', async (t) => {
    const bus = await start('bus')
    const { body: mine } = await putModel(bus, BYTES)
    await connect(bus, { url: two.url, admin })
    const { body } = await bus.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: mine.model_id })
    t.match(body.result, { model_sha256: sha256Of(BYTES), model_state: 20 })
    t.match(
      await transfersOf(bus),
      [{ state: 'delivered', bytes_saved: BYTES.length }],
      'no byte was carried',
    )
    const models = await atHub()
    t.equal(new Set(models.map(({ model_id }) => model_id)).size, 2)
    await hasBytes(t, models[1], BYTES)
  })

  await t.test('the next round goes up, and an aggregated model comes down', async (t) => {
    const next = Buffer.from(BYTES)
    next.set(randomBytes(100), 4_000_000)
    await putModel(van, next)
    const all = await until(atHub, (found) => found.length === 3)
    t.equal(all[2]?.model_sha256, sha256Of(next))
    await hasBytes(t, all[2], next)
    const hub = { url: one.url, admin } as Parameters<typeof putModel>[0]
    const whole = randomBytes(300_000)
    const { body: made } = await putModel(hub, whole, { method: 'model_store.model.put_aggregated' })
    t.match(made, { model_state: 30, model_sha256: sha256Of(whole) })
    const fetched = await van.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
    t.match(fetched.body.result, { model_state: 40, model_sha256: sha256Of(whole) })
    const file = await fetch(`${van.url}/api/v2/model_store/models/${fetched.body.result.model_id}/file`, {
      headers: pairHeaders(van.admin),
    })
    t.ok(Buffer.from(await file.arrayBuffer()).equals(whole))
    t.equal((await modelsOf(van)).length, 3)
  })
})
