import t from 'tap'
import { malformed, refused, unreachable } from '../../src/sync/faults.js'
import type { UpstreamClient } from '../../src/sync/http-client.js'
import { announce, discover, listRemote } from '../../src/sync/peer.js'
import { rejectsWith } from '../support/rejects-with.js'

const { signal } = new AbortController()

/** A client whose calls answer a value, or throw an error. */
function clientOf(answer: unknown) {
  const calls: unknown[] = []
  const client: Pick<UpstreamClient, 'rpc'> = {
    async rpc(path, method, params) {
      calls.push([path, method, params])
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return { client: client as UpstreamClient, calls }
}

const GATEWAY = {
  openrpc: '1.4.0',
  'x-node-id': 'node-1',
  'x-resumable-upload': { version: '1.0.0' },
  'x-uploads': ['dataset.put', 'model_store.model.put_feedback'],
}

t.test(
  'discover: a gateway has resumable uploads and put_feedback; anything else is a plain server',
  async (t) => {
    const facts = async (answer: unknown) => await discover(clientOf(answer).client, signal)
    t.same(await facts(GATEWAY), { isPeer: true, nodeId: 'node-1' })
    t.same(await facts({ ...GATEWAY, 'x-uploads': ['dataset.put'] }), { isPeer: false, nodeId: 'node-1' })
    t.same(await facts({ ...GATEWAY, 'x-uploads': undefined }), { isPeer: false, nodeId: 'node-1' })
    t.same(await facts({ ...GATEWAY, 'x-resumable-upload': undefined }), { isPeer: false, nodeId: 'node-1' })
    for (const answer of [
      null,
      'text',
      [],
      { ...GATEWAY, 'x-node-id': 5 },
      { ...GATEWAY, 'x-uploads': 'all' },
    ]) {
      t.same(await facts(answer), { isPeer: false, nodeId: null }, JSON.stringify(answer))
    }
  },
)

t.test('discover: a server without the method is a plain one, one that fails is not judged', async (t) => {
  for (const error of [refused(404, ''), malformed('HTML')]) {
    t.same(await discover(clientOf(error).client, signal), { isPeer: false, nodeId: null })
  }
  await rejectsWith(t, discover(clientOf(refused(503, '')).client, signal), 'UPSTREAM_REFUSED')
  await rejectsWith(t, discover(clientOf(unreachable('x')).client, signal), 'UPSTREAM_UNREACHABLE')
})

t.test('announce: the model that the peer has, or the place for its bytes; nothing else', async (t) => {
  const params = { sha256: 'aa', size: 1, data: {} }
  const have = { have: true, model_info: { model_id: 'm' } }
  const want = { have: false, upload_url: '/u/1', offset: 0 }
  for (const answer of [have, want]) t.match(await announce(clientOf(answer).client, params, signal), answer)
  for (const answer of [
    null,
    {},
    { have: true },
    { have: true, model_info: {} },
    { have: false, upload_url: '/u/1' },
    { ...want, offset: -1 },
    { ...want, offset: 0.5 },
    { ...want, upload_url: '' },
  ]) {
    await rejectsWith(t, announce(clientOf(answer).client, params, signal), 'UPSTREAM_REFUSED', {
      data: { isMalformed: true },
    })
  }
})

t.test(
  'listRemote: asks for the store of the upstream; members that a server lacks have defaults',
  async (t) => {
    const query = { conds: {}, order: 'x', limit: 1 }
    const { client, calls } = clientOf([{ model_id: 'm', model_hash: 'AB', model_size: 0 }])
    t.match(await listRemote(client, { upstreamStore: 'store' }, query, signal), [
      {
        model_id: 'm',
        model_kind: '',
        model_description: '',
        model_meta: {},
        hop_count: 0,
        round: 0,
        tenant_id: '',
      },
    ])
    t.match(calls, [[/model_store/, 'model_store.model.get_info', { model_store_ddc: 'store', limit: 1 }]])
    for (const answer of [
      {},
      [{}],
      [{ model_id: '', model_hash: '', model_size: 0 }],
      [{ model_id: 'm', model_hash: 'x', model_size: -1 }],
    ]) {
      await rejectsWith(
        t,
        listRemote(clientOf(answer).client, { upstreamStore: 's' }, query, signal),
        'UPSTREAM_REFUSED',
      )
    }
  },
)
