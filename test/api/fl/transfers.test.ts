import t from 'tap'
import { connect, FL, LOCAL_SYNC, putModel } from '../../support/models.js'
import { startGateway } from '../../support/start-gateway.js'

t.test('transfer methods: UNKNOWN_TRANSFER when no transfer has the id', async (t) => {
  const gateway = await startGateway(t)
  for (const method of ['fl.get_transfer', 'fl.retry_transfer', 'fl.cancel_transfer']) {
    const { body } = await gateway.call(FL, method, { id: 99 })
    t.equal(body.error?.data.name, 'UNKNOWN_TRANSFER', method)
  }
})

t.test('fl.list_transfers: a transfer fails when its upstream information is deleted', async (t) => {
  const gateway = await startGateway(t, { settings: { sync: { ...LOCAL_SYNC, waitS: 1 } } })
  const { body: info } = await putModel(gateway, new Uint8Array(10))
  const id = await connect(gateway, { url: 'http://127.0.0.1:9', admin: gateway.admin })
  await gateway.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: info.model_id })
  await gateway.call(FL, 'fl.delete_upstream_info', { id })
  const { body } = await gateway.call(FL, 'fl.list_transfers', { order: '-id' })
  t.match(body.result[0], { state: 'failed', last_error: 'its upstream information was deleted' })
})
