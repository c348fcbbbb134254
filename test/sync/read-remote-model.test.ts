import t from 'tap'
import { readRemoteModel } from '../../src/sync/peer.js'

t.test('readRemoteModel: a model_info with its meta as it was sent, and nothing else', async (t) => {
  const info = { model_id: 'm', model_hash: 'h', model_size: 7 }
  t.match(readRemoteModel(JSON.stringify({ ...info, model_meta: { a: 1 } })), {
    ...info,
    model_meta: { a: 1 },
    round: 0,
  })
  t.match(
    readRemoteModel('{"model_id":"m","model_hash":"h","model_size":7,"model_meta":{"__proto__":1}}'),
    info,
  )
  for (const text of ['{}', '[1]', JSON.stringify({ ...info, model_size: -1 })])
    t.equal(readRemoteModel(text), undefined, text)
})
