import t from 'tap'
import { connect, FL, LOCAL_SYNC, putModel } from '../../support/models.js'
import { startGateway } from '../../support/start-gateway.js'

t.test('fl.feedback and fl.request_transfer: their errors', async (t) => {
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
})
