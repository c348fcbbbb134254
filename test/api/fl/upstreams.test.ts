import t from 'tap'
import { FL } from '../../support/models.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

const UPSTREAM = {
  model_store_ddc: 'ddc:rain',
  create: true,
  upstream_endpoint: 'https://up.example/api/v2/fl/jsonrpc',
  upstream_apikey: 'the-key',
  upstream_secret: 'the-secret',
  upstream_model_store_ddc: 'there',
}

t.test('upstream information: create, get, list, update and delete', async (t) => {
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
  const { model_store_ddc: _, create: __, ...given } = UPSTREAM
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
  for (const [conds, count] of [
    [{ is_null: ['model_store_ddc_id'] }, 1],
    [{ '=': ['model_store_ddc_id', 1] }, 0],
  ])
    t.equal((await call('fl.list_upstream_info', { conds })).result.length, count)
  t.match((await call('fl.delete_upstream_info', { id: 1 })).result, { id: 1, upstream_secret: 'new' })
  for (const method of ['fl.get_upstream_info', 'fl.update_upstream_info', 'fl.delete_upstream_info'])
    t.equal((await call(method, { id: 1 })).error.data.name, 'UNKNOWN_UPSTREAM', method)
})

t.test(
  'fl.create_upstream_info: BAD_ENDPOINT for endpoints that are refused, UNKNOWN_STORE for an unknown store',
  async (t) => {
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
  },
)

t.test('fl.create_upstream_info: an unknown store is made on request only', async (t) => {
  const gateway = await startGateway(t)
  const { create: _, ...mistyped } = UPSTREAM
  const { error } = (await gateway.call(FL, 'fl.create_upstream_info', mistyped)).body
  t.match(error, { data: { name: 'UNKNOWN_STORE' }, message: /named "rain"; create: true makes it/ })
  const list = async () =>
    (await gateway.call('/api/v2/model_store/jsonrpc', 'model_store.list', {})).body.result.length
  t.equal(await list(), 0)
  t.match((await gateway.call(FL, 'fl.create_upstream_info', UPSTREAM)).body.result, { id: 1 })
  t.equal(await list(), 1)
  t.match((await gateway.call(FL, 'fl.create_upstream_info', mistyped)).body.result, { id: 2 })
  const change = { id: 1, model_store_ddc: 'rian' }
  t.equal((await gateway.call(FL, 'fl.update_upstream_info', change)).body.error.data.name, 'UNKNOWN_STORE')
  t.equal(await list(), 1)
})
