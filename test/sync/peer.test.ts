import t from 'tap'
import type { ModelRecord } from '../../src/storage/models/models.js'
import type { UpstreamRecord } from '../../src/storage/models/upstreams.js'
import { malformed, refused, unreachable } from '../../src/sync/faults.js'
import type { UpstreamClient } from '../../src/sync/http-client.js'
import { announce, discover, feedbackData, listRemote, plainData } from '../../src/sync/peer.js'
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
    t.same(await facts(GATEWAY), { isPeer: true, nodeId: 'node-1', hasSignatures: false, takesDeltas: false })
    t.match(await facts({ ...GATEWAY, 'x-model-signatures': true }), { hasSignatures: true })
    t.match(await facts({ ...GATEWAY, 'x-model-signatures': 'yes' }), { hasSignatures: false })
    t.match(await facts({ ...GATEWAY, 'x-model-deltas': true }), { takesDeltas: true })
    t.match(await facts({ ...GATEWAY, 'x-model-deltas': false }), { takesDeltas: false })
    t.same(await facts({ ...GATEWAY, 'x-uploads': ['dataset.put'] }), {
      isPeer: false,
      nodeId: 'node-1',
      hasSignatures: false,
      takesDeltas: false,
    })
    t.same(await facts({ ...GATEWAY, 'x-uploads': undefined }), {
      isPeer: false,
      nodeId: 'node-1',
      hasSignatures: false,
      takesDeltas: false,
    })
    t.same(await facts({ ...GATEWAY, 'x-resumable-upload': undefined }), {
      isPeer: false,
      nodeId: 'node-1',
      hasSignatures: false,
      takesDeltas: false,
    })
    for (const answer of [
      null,
      'text',
      [],
      { ...GATEWAY, 'x-node-id': 5 },
      { ...GATEWAY, 'x-uploads': 'all' },
    ]) {
      t.same(
        await facts(answer),
        { isPeer: false, nodeId: null, hasSignatures: false, takesDeltas: false },
        JSON.stringify(answer),
      )
    }
  },
)

t.test('discover: a server without the method is a plain one, one that fails is not judged', async (t) => {
  for (const error of [refused(404, ''), malformed('HTML')]) {
    t.same(await discover(clientOf(error).client, signal), {
      isPeer: false,
      nodeId: null,
      hasSignatures: false,
      takesDeltas: false,
    })
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

const REMOTE = {
  model_id: 'm',
  model_kind: 'kind',
  model_description: 'description',
  model_meta: { a: [1] },
  model_hash: 'AB',
  model_sha256: '0123456789abcdef'.repeat(4),
  model_size: 12,
  hop_count: 2,
  round: 3,
  tenant_id: 'tenant',
}

t.test('listRemote: every member at its limits, and none beyond', async (t) => {
  const list = async (change: object) => {
    const { client } = clientOf([{ ...REMOTE, ...change }])
    return await listRemote(client, { upstreamStore: 's' }, { conds: {}, order: 'x', limit: 1 }, signal)
  }
  t.same(await list({}), [REMOTE])
  for (const accepted of [
    { model_id: 'x'.repeat(200) },
    { model_kind: 'x'.repeat(100_000) },
    { model_description: 'x'.repeat(1_000_000) },
    { model_hash: 'x'.repeat(200) },
    { model_size: 0 },
    { hop_count: 0 },
    { hop_count: 1_000_000 },
    { round: 0 },
    { tenant_id: 'x'.repeat(1000) },
    { another: 'member' },
  ])
    t.same(await list(accepted), [{ ...REMOTE, ...accepted }], Object.keys(accepted).join())
  for (const refusedValue of [
    { model_id: '' },
    { model_id: 'x'.repeat(201) },
    { model_kind: 'x'.repeat(100_001) },
    { model_description: 'x'.repeat(1_000_001) },
    { model_meta: [] },
    { model_hash: 'x'.repeat(201) },
    { model_sha256: REMOTE.model_sha256.slice(1) },
    { model_sha256: `${REMOTE.model_sha256}0` },
    { model_sha256: `x${REMOTE.model_sha256}` },
    { model_sha256: REMOTE.model_sha256.toUpperCase() },
    { model_size: -1 },
    { model_size: 0.5 },
    { hop_count: -1 },
    { hop_count: 1_000_001 },
    { round: -1 },
    { tenant_id: 'x'.repeat(1001) },
  ])
    await rejectsWith(t, list(refusedValue), 'UPSTREAM_REFUSED', { data: { isMalformed: true } })
})

t.test('listRemote: at most 10,000 models', async (t) => {
  const list = async (count: number) => {
    const { client } = clientOf(Array(count).fill(REMOTE))
    return await listRemote(client, { upstreamStore: 's' }, { conds: {}, order: 'x', limit: 1 }, signal)
  }
  t.equal((await list(10_000)).length, 10_000)
  await rejectsWith(t, list(10_001), 'UPSTREAM_REFUSED', { message: /model_store\.model\.get_info/ })
})

t.test('discover and announce: texts and lists at their limits, and none beyond', async (t) => {
  const facts = async (change: object) => await discover(clientOf({ ...GATEWAY, ...change }).client, signal)
  const upload = 'model_store.model.put_feedback'
  t.match(await facts({ 'x-node-id': 'x'.repeat(100) }), { isPeer: true, nodeId: 'x'.repeat(100) })
  t.match(await facts({ 'x-node-id': 'x'.repeat(101) }), { isPeer: false, nodeId: null })
  t.match(await facts({ 'x-uploads': [...Array(98).fill('a'), 'x'.repeat(200), upload] }), { isPeer: true })
  t.match(await facts({ 'x-uploads': [...Array(100).fill('a'), upload] }), { isPeer: false, nodeId: null })
  t.match(await facts({ 'x-uploads': ['x'.repeat(201), upload] }), { isPeer: false, nodeId: null })
  const params = { sha256: 'aa', size: 1, data: {} }
  const announced = async (answer: object) => await announce(clientOf(answer).client, params, signal)
  const wanted = { have: false, upload_url: 'x'.repeat(2000), offset: 7 }
  t.same(await announced(wanted), wanted)
  const had = { have: true, model_info: { model_id: 'x'.repeat(200), more: 1 } }
  t.same(await announced(had), had)
  for (const answer of [
    { ...wanted, upload_url: 'x'.repeat(2001) },
    { have: true, model_info: { model_id: '' } },
    { have: true, model_info: { model_id: 'x'.repeat(201) } },
  ])
    await rejectsWith(t, announced(answer), 'UPSTREAM_REFUSED', { message: /fl\.announce/ })
})

t.test('feedbackData: the origin is the first registration, and the chain ends with this node', async (t) => {
  const model = {
    modelId: 'here-1',
    kind: 'kind',
    description: 'description',
    meta: '{"a":[1,null]}',
    round: 3,
    hopCount: 1,
    chain: ['first'],
    originNode: null,
    originModelId: null,
  } as unknown as ModelRecord
  const upstream = { upstreamStore: 'theirs' } as UpstreamRecord
  const plain = {
    model_store_ddc: 'theirs',
    model_kind: 'kind',
    model_description: 'description',
    model_meta: { a: [1, null] },
  }
  t.same(plainData(model, upstream), plain)
  const origin = { node: 'here', model_id: 'here-1', hop_count: 1, chain: ['first', 'here'] }
  t.same(feedbackData(model, upstream, 'here', undefined), { ...plain, round: 3, origin })
  t.same(feedbackData(model, upstream, 'here', '{}'), { ...plain, model_signature: '{}', round: 3, origin })
  const passedOn = { ...model, originNode: 'first', originModelId: 'theirs-1' }
  t.same(feedbackData(passedOn, upstream, 'here', undefined), {
    ...plain,
    round: 3,
    origin: { ...origin, node: 'first', model_id: 'theirs-1' },
  })
})
