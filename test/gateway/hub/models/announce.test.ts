import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { OUTBOX_METHODS } from '../../../../src/api/fl/index.js'
import { hubCall, noHub } from '../../../support/hub.js'
import { type Pair, startPair } from '../../../support/hub-beside-gateway.js'
import { DATA, FL, MODELS } from '../../../support/models.js'
import { type KeyPair, pairHeaders } from '../../../support/start-gateway.js'

const skip = noHub()
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const BYTES = randomBytes(5000)
const VAN = '44444444-4444-4444-8444-444444444444'

/** Announcement of a model of another node, by its id there. */
const announcement = (model_id: string, bytes: Uint8Array, change: object = {}) => ({
  ...{ sha256: sha256Of(bytes), size: bytes.length },
  data: { ...DATA, origin: { node: VAN, model_id, hop_count: 2 } },
  ...change,
})
const dataWith = (change: object) => ({ data: { ...announcement('x', BYTES).data, ...change } })

const BAD: readonly (readonly [error: string, method: string, params: unknown])[] = [
  ['INVALID_PARAMS', 'fl.announce', {}],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, { sha256: 'AB'.repeat(32) })],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, { size: -1 })],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, dataWith({ colour: 'red' }))],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, dataWith({ model_kind: 7 }))],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, { bases: ['x'] })],
  ['INVALID_PARAMS', 'fl.announce', announcement('a', BYTES, { delta: { base: 'x' } })],
  ['BODY_TOO_LARGE', 'fl.announce', announcement('a', BYTES, { size: 1e15 })],
  ['UNKNOWN_STORE', 'fl.announce', announcement('a', BYTES, dataWith({ model_store_ddc: 'snow' }))],
  ['TOO_MANY_UPLOADS', 'fl.announce', announcement('c', randomBytes(10))],
  ['METHOD_NOT_FOUND', 'fl.shout', {}],
]

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
type Result = any

/** Removes what two nodes must name differently: ids, names with a time in them, and times. */
function shared(value: Result): Result {
  const text = JSON.stringify(value)
    .replace(/"(model_id|model_store_ddc|long_form|requestId)":"[^"]*"/g, '"$1":"its own"')
    .replace(/uploads\/[0-9a-f-]{36}/, 'uploads/its-own')
    .replace(/"_type":"datetime","val":"[^"]*"/g, '"_type":"datetime","val":"its own"')
  return JSON.parse(text)
}

/** Calls the gateway and one process of the hub. @returns what each answered */
async function ask({ gateway, hubUrls, hubAdmin }: Pair, at: 0 | 1, method: string, params: unknown) {
  const apiPath = method.startsWith('fl.') ? FL : MODELS
  const there = await gateway.call(apiPath, method, params)
  const here = await hubCall({ url: hubUrls[at] }, pairHeaders(hubAdmin), apiPath, method, params)
  return { gateway: there.body as Result, hub: here.body as Result }
}

/** Sends the bytes of an upload to the address that an announcement gave. */
async function send(node: string, admin: KeyPair, uploadUrl: string, bytes: Uint8Array<ArrayBuffer>) {
  const headers = {
    ...{ ...pairHeaders(admin), 'Tus-Resumable': '1.0.0', 'Upload-Offset': '0' },
    'Content-Type': 'application/offset+octet-stream',
  }
  const answer = await fetch(`${node}${uploadUrl}`, { method: 'PATCH', headers, body: bytes })
  return { status: answer.status, info: (await answer.json()) as Result }
}

t.test('hub: announced models are answered as at a gateway', { skip }, async (t) => {
  const pair = await startPair(t, { modelStore: { autoCreate: false, maxOpenUploads: 2 } })
  const { gateway, hubUrls, hubAdmin } = pair
  const made = await pair.write(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
  t.same(shared(made.hub), shared(made.gateway))
  const announce = async (t: Test, at: 0 | 1, params: unknown) => {
    const answers = await ask(pair, at, 'fl.announce', params)
    t.same(shared(answers.hub), shared(answers.gateway))
    return { gateway: answers.gateway.result as Result, hub: answers.hub.result as Result }
  }

  await t.test('unknown bytes get an upload, which is the same at each process', async (t) => {
    const first = await announce(t, 0, announcement('a', BYTES))
    t.match(first.gateway, { have: false, offset: 0, upload_url: /uploads/ })
    t.same(await announce(t, 1, announcement('a', BYTES)), first)
    const there = await send(gateway.url, gateway.admin, first.gateway.upload_url, BYTES)
    const here = await send(hubUrls[1], hubAdmin, first.hub.upload_url, BYTES)
    t.match(here, { status: 200, info: { model_sha256: sha256Of(BYTES), model_state: 20, hop_count: 3 } })
    t.same(shared(here.info), shared(there.info))
    const again = await announce(t, 0, announcement('a', BYTES))
    t.match(again.hub, { have: true, model_info: { model_id: here.info.model_id } })
  })

  await t.test('known bytes of another model are registered at once', async (t) => {
    const { hub } = await announce(t, 0, announcement('b', BYTES))
    t.match(hub, { have: true, model_info: { model_sha256: sha256Of(BYTES), model_state: 20 } })
    const bases = [sha256Of(BYTES)] // bytes of a model this small are sent whole
    const other = announcement('d', randomBytes(5000), { bases })
    t.match((await announce(t, 1, other)).hub, { have: false, offset: 0, base: undefined })
  })

  await t.test('lists of stores and models are those of a gateway', async (t) => {
    const queries = [
      {},
      { order: '-model_size', limit: 1, offset: 1 },
      { conds: { '=': ['model_sha256', sha256Of(BYTES)] }, order: 'start_datetime' },
      { conds: { '=': ['model_kind', 'other'] } },
      { conds: { '=': ['colour', 'red'] } },
    ]
    for (const query of queries)
      for (const at of [0, 1] as const) {
        const params = { model_store_ddc: 'rain', ...query }
        const { gateway, hub } = await ask(pair, at, 'model_store.model.get_info', params)
        t.same(shared(hub), shared(gateway), JSON.stringify(query))
        t.equal(hub.error?.data.name, query.conds?.['=']?.[0] === 'colour' ? 'BAD_CONDITION' : undefined)
      }
    const { gateway, hub } = await ask(pair, 1, 'model_store.model.get_info', { model_store_ddc: 'rain' })
    t.same([hub.result?.length, gateway.result?.length], [2, 2])
  })

  await t.test('bad requests have the same error', async (t) => {
    const second = await announce(t, 0, announcement('e', randomBytes(10)))
    t.match(second.hub, { have: false }, 'the last upload that the key may begin')
    for (const [error, method, params] of BAD) {
      const { gateway, hub } = await pair.call(FL, method, params)
      t.match(JSON.parse(gateway.text), { error: { data: { name: error } } }, gateway.text)
      for (const answer of hub) t.strictSame(answer, gateway, error)
    }
  })

  await t.test('a model of the hub itself comes back to it as LOOP', async (t) => {
    const discover = (await ask(pair, 0, 'rpc.discover', {})) as Result
    for (const node of ['gateway', 'hub'] as const) {
      const origin = { node: discover[node].result['x-node-id'], model_id: 'a', hop_count: 1 }
      const params = announcement('a', randomBytes(10), dataWith({ origin }))
      const answers = await ask(pair, 1, 'fl.announce', params)
      t.match(answers[node], { error: { data: { name: 'LOOP' } } })
    }
  })

  await t.test('what goes further up is refused by name, with the scope alone', async (t) => {
    const key = pairHeaders(await gateway.makeKey(['session:read']))
    t.equal((await gateway.call(FL, 'fl.list_transfers', {}, key)).status, 403)
    t.equal((await hubCall({ url: hubUrls[0] }, {}, FL, 'fl.list_transfers')).status, 401)
    for (const { name } of OUTBOX_METHODS) {
      const { body } = await hubCall({ url: hubUrls[1] }, pairHeaders(hubAdmin), FL, name)
      const message = `A hub does not offer ${name}; gateways do`
      t.match(body, { error: { message, data: { name: 'NOT_ON_HUB', what: name } } })
    }
  })
})
