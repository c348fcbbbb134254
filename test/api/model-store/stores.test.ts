import t from 'tap'
import { MODELS } from '../../support/models.js'
import { startGateway } from '../../support/start-gateway.js'

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
