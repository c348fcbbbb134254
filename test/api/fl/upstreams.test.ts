import t from 'tap'
import { dumpDataDir } from '../support/data-dump.js'
import { connect, FL, LOCAL_SYNC, MODELS, putModel } from '../support/models.js'
import { pairHeaders, startGateway } from '../support/start-gateway.js'

const UPSTREAM = {
  model_store_ddc: 'ddc:rain',
  upstream_endpoint: 'https://up.example/api/v2/fl/jsonrpc',
  upstream_apikey: 'the-key',
  upstream_secret: 'the-secret',
  upstream_model_store_ddc: 'there',
}

t.test('fl: create, get, list, update and delete upstream information', async (t) => {
  const gateway = await startGateway(t)
  const call = async (method: string, params: object) => (await gateway.call(FL, method, params)).body
  const { result: made } = await call('fl.create_upstream_info', UPSTREAM)
  t.same(Object.keys(made).sort(), [
    'alias',
    'created_at',
    'description',
    'enabled',
    'id',
    'model_store_dataset_id',
    'model_store_ddc_id',
    'updated_at',
    'upstream_apikey',
    'upstream_endpoint',
    'upstream_model_store_ddc',
    'upstream_secret',
  ])
  const { model_store_ddc: _, ...given } = UPSTREAM
  t.match(made, {
    id: 1,
    ...given,
    alias: 'default',
    description: '',
    enabled: true,
    model_store_ddc_id: null,
  })
  t.match(made.created_at, { _type: 'datetime', val: /\+09:00$/ })
  t.same((await call('fl.get_upstream_info', { id: 1 })).result, made)
  const reader = await gateway.makeKey(['fl:read'])
  const masked = await gateway.call(FL, 'fl.get_upstream_info', { id: 1 }, pairHeaders(reader))
  t.equal(masked.body.result.upstream_secret, '********')
  const { result: updated } = await call('fl.update_upstream_info', {
    id: 1,
    upstream_secret: 'new',
    enabled: false,
  })
  t.match(updated, { ...given, upstream_secret: 'new', enabled: false })
  t.equal((await call('fl.list_upstream_info', { conds: { '=': ['enabled', false] } })).result.length, 1)
  t.equal(
    (await call('fl.list_upstream_info', { conds: { '=': ['upstream_secret', 'new'] } })).error.data.name,
    'BAD_CONDITION',
  )
  t.match((await call('fl.delete_upstream_info', { id: 1 })).result, { id: 1, upstream_secret: 'new' })
  for (const method of ['fl.get_upstream_info', 'fl.update_upstream_info', 'fl.delete_upstream_info'])
    t.equal((await call(method, { id: 1 })).error.data.name, 'UNKNOWN_UPSTREAM', method)
})

t.test('fl: endpoints that are refused', async (t) => {
  const gateway = await startGateway(t, { settings: { modelStore: { autoCreate: false } } })
  for (const endpoint of [
    'http://up.example/api/v2/fl/jsonrpc',
    'ftp://up.example/',
    'https://user:pw@up.example/',
    'https://up.example/?a=1',
    'not an address',
  ]) {
    const { body } = await gateway.call(FL, 'fl.create_upstream_info', {
      ...UPSTREAM,
      upstream_endpoint: endpoint,
    })
    t.equal(body.error.data.name, 'BAD_ENDPOINT', `${endpoint}: ${body.error.message}`)
  }
  const unknown = await gateway.call(FL, 'fl.create_upstream_info', UPSTREAM)
  t.equal(unknown.body.error.data.name, 'UNKNOWN_STORE')
})

t.test('fl: errors of feedback, request_transfer and the transfer methods', async (t) => {
  const gateway = await startGateway(t, { settings: { sync: { ...LOCAL_SYNC, waitS: 1 } } })
  const name = async (method: string, params: object) =>
    (await gateway.call(FL, method, params)).body.error?.data.name
  const model_id = '00000000-0000-4000-8000-000000000000'
  t.equal(await name('fl.feedback', { model_store_ddc: 'snow', model_id }), 'UNKNOWN_STORE')
  const { body: info } = await putModel(gateway, new Uint8Array(10))
  const mine = { model_store_ddc: 'rain', model_id: info.model_id }
  t.equal(await name('fl.feedback', mine), 'NO_UPSTREAM')
  t.equal(await name('fl.request_transfer', { model_store_ddc: 'rain' }), 'NO_UPSTREAM')
  const id = await connect(gateway, { url: 'http://127.0.0.1:9', admin: gateway.admin })
  t.equal(await name('fl.feedback', { ...mine, model_id }), 'UNKNOWN_MODEL')
  t.equal(await name('fl.feedback', mine), 'UPSTREAM_UNREACHABLE')
  t.equal(await name('fl.request_transfer', { model_store_ddc: 'rain' }), 'UPSTREAM_UNREACHABLE')
  await gateway.call(FL, 'fl.update_upstream_info', { id, enabled: false })
  t.equal(await name('fl.feedback', mine), 'UPSTREAM_DISABLED')
  for (const method of ['fl.get_transfer', 'fl.retry_transfer', 'fl.cancel_transfer'])
    t.equal(await name(method, { id: 99 }), 'UNKNOWN_TRANSFER', method)
  await gateway.call(FL, 'fl.delete_upstream_info', { id })
  const { body } = await gateway.call(FL, 'fl.list_transfers', { order: '-id' })
  t.match(body.result[0], { state: 'failed', last_error: 'its upstream information was deleted' })
})

t.test('model store: create, list, delete and their errors', async (t) => {
  const gateway = await startGateway(t)
  const call = async (method: string, params: object) => (await gateway.call(MODELS, method, params)).body
  const { result: made } = await call('model_store.create', { model_store_ddc: 'rain' })
  t.match(made, { id: 1, model_store_ddc: 'rain', long_form: /^rain_\d+/ })
  t.equal((await call('model_store.create', { model_store_ddc: 'ddc:rain' })).error.data.name, 'STORE_EXISTS')
  t.same((await call('model_store.list', {})).result, [made])
  t.same((await call('model_store.list', { conds: { '=': ['model_store_ddc', 'x'] } })).result, [])
  t.same((await call('model_store.delete', { model_store_ddc: made.long_form })).result, made)
  t.equal((await call('model_store.delete', { model_store_ddc: 'rain' })).error.data.name, 'UNKNOWN_STORE')
  t.equal(
    (await call('model_store.model.get_info', { model_store_ddc: 'rain' })).error.data.name,
    'UNKNOWN_STORE',
  )
  const model_id = '00000000-0000-4000-8000-000000000000'
  t.equal((await call('model_store.model.delete', { model_id })).error.data.name, 'UNKNOWN_MODEL')
})

t.test(
  'fl.announce: TOO_MANY_UPLOADS when a key has as many unfinished ones as it may, and nothing is made',
  async (t) => {
    const gateway = await startGateway(t, { settings: { modelStore: { maxOpenUploads: 1 } } })
    const announce = (digit: string) => ({
      sha256: digit.repeat(64),
      size: 10,
      data: {
        ...{ model_store_ddc: 'rain', model_kind: 'k', model_description: '', model_meta: {} },
        origin: { node: 'elsewhere', model_id: digit },
      },
    })
    const { body: first } = await gateway.call(FL, 'fl.announce', announce('a'))
    t.match(first.result, { have: false, offset: 0 })
    const before = dumpDataDir(gateway.dataDir)
    const { body } = await gateway.call(FL, 'fl.announce', announce('b'))
    t.match(body.error, { code: 9009, data: { name: 'TOO_MANY_UPLOADS' } })
    t.same(dumpDataDir(gateway.dataDir), before)
    t.same(
      (await gateway.call(FL, 'fl.announce', announce('a'))).body.result,
      first.result,
      'the one begun goes on',
    )
  },
)
