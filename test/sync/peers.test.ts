import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import t from 'tap'
import {
  connect,
  DATA,
  FL,
  LOCAL_SYNC,
  MODELS,
  modelsOf,
  putModel,
  transfersOf,
  until,
} from '../support/models.js'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

const settings = { sync: LOCAL_SYNC }
type Tap = Parameters<typeof startGateway>[0]

/** Several gateways of one test: each needs a folder of its own in the test's one. */
async function startMany(t: Tap, count: number): Promise<TestGateway[]> {
  const dir = t.testdir()
  return await Promise.all(
    Array.from({ length: count }, (_, i) =>
      startGateway(t, { settings, dataDir: path.join(dir, `node${i}`) }),
    ),
  )
}

const nodeIdOf = async (gateway: TestGateway): Promise<string> =>
  (await gateway.call(FL, 'rpc.discover')).body.result['x-node-id']

t.test('peers: put is state 20 upstream, aggregated comes back as state 40, over several hops', async (t) => {
  const [edge, middle, top] = (await startMany(t, 3)) as [TestGateway, TestGateway, TestGateway]
  await connect(edge, middle)
  await connect(middle, top)
  const bytes = randomBytes(400_000)
  const { body: info } = await putModel(edge, bytes)
  await until('it is at the top', async () => (await modelsOf(top)).length === 1)
  const [atMiddle] = await modelsOf(middle)
  const [atTop] = await modelsOf(top)
  t.match(atMiddle, {
    model_state: 20,
    hop_count: 1,
    model_hash: info.model_hash,
    model_meta: DATA.model_meta,
  })
  t.match(atTop, { model_state: 20, hop_count: 2, model_sha256: info.model_sha256 })
  await until('it is told', async () => (await transfersOf(edge))[0].state === 'delivered')
  const { body } = await edge.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: info.model_id })
  t.match(body.result, { model_id: atMiddle.model_id, model_state: 20, model_store_ddc: /^rain_\d/ })
  t.equal((await transfersOf(edge)).length, 1, 'asking again joins the same transfer')

  const none = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.equal(none.body.error.data.name, 'NO_AGGREGATED_MODEL')
  const aggregate = randomBytes(300_000)
  const put = await putModel(middle, aggregate, {
    method: 'model_store.model.put_aggregated',
    data: { round: 7 },
  })
  const fetched = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.match(fetched.body.result, { model_state: 40, round: 7, hop_count: 1, model_hash: put.body.model_hash })
  const again = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.equal(again.body.result.model_id, fetched.body.result.model_id, 'nothing new answers the stored one')
  const file = await fetch(`${edge.url}/api/v2/model_store/models/${fetched.body.result.model_id}/file`, {
    headers: pairHeaders(edge.admin),
  })
  t.ok(Buffer.from(await file.arrayBuffer()).equals(aggregate))
  await until('the aggregate went up as well', async () => (await modelsOf(top)).length === 2)
})

t.test(
  'peers: fl.request_transfer before the upstream has the store leaves no transfer behind',
  async (t) => {
    const [edge, top] = (await startMany(t, 2)) as [TestGateway, TestGateway]
    await edge.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
    await connect(edge, top)
    for (let poll = 0; poll < 3; poll++) {
      const { body } = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
      t.match(body.error, { data: { name: 'NO_AGGREGATED_MODEL' } })
    }
    t.same(await transfersOf(edge), [])
    await putModel(top, randomBytes(100), { method: 'model_store.model.put_aggregated', data: { round: 1 } })
    const [store] = (await edge.call(MODELS, 'model_store.list', {})).body.result
    const { body } = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
    t.match(body.result, { model_state: 40, model_store_ddc: store.long_form }, 'the long form')
  },
)

t.test('peers: a ring of gateways refuses what comes round, and each keeps one', async (t) => {
  const [a, b] = (await startMany(t, 2)) as [TestGateway, TestGateway]
  await connect(a, b)
  await connect(b, a)
  const { body: info } = await putModel(a, randomBytes(1000))
  await until('b tried to send it back', async () => (await transfersOf(b))[0]?.state === 'failed')
  const [back] = await transfersOf(b)
  t.match(back.last_error, new RegExp(`already came through this node \\(${await nodeIdOf(a)}\\)`))
  t.same(
    (await modelsOf(a)).map((model) => model.model_id),
    [info.model_id],
  )
  t.equal((await modelsOf(b)).length, 1)
})

t.test('peers: bytes that the upstream has are announced, not sent', async (t) => {
  const [edge, upstream] = (await startMany(t, 2)) as [TestGateway, TestGateway]
  await connect(edge, upstream)
  const bytes = randomBytes(500_000)
  await putModel(upstream, bytes)
  await putModel(edge, bytes, { data: { model_kind: 'mine' } })
  await putModel(edge, bytes, { data: { model_kind: 'mine too' } })
  await until('both are there', async () => (await modelsOf(upstream)).length === 3)
  const delivered = () => edge.logLines.filter((line) => line.msg === 'transfer delivered')
  await until('both deliveries are logged', () => delivered().length === 2)
  t.same(
    delivered().map((line) => line.bytes),
    [0, 0],
  )
})

t.test('peers: an upload goes on after a restart of the receiver, from the offset on disk', async (t) => {
  const dir = t.testdir()
  const [edgeDir, upDir] = [path.join(dir, 'edge'), path.join(dir, 'up')]
  const first = await startGateway(t, { settings, dataDir: upDir })
  const { port } = new URL(first.url)
  const edge = await startGateway(t, { settings, dataDir: edgeDir })
  // a link that carries 3 MB and is then cut for good, until the upstream is another process
  const link = await startLink(Number(port), 3_000_000)
  t.teardown(() => link.close())
  await connect(edge, { url: link.url, admin: first.admin })
  const bytes = randomBytes(9_000_000)
  await putModel(edge, bytes)
  await until('the link is cut', () => link.isCut())
  await until('it waits', async () => (await transfersOf(edge))[0].attempts > 0)
  await first.gateway.stop()
  const second = await startGateway(t, { settings, dataDir: upDir })
  link.reopen(Number(new URL(second.url).port))
  await until('it arrived', async () => (await transfersOf(edge))[0].state === 'delivered')
  const [model] = await modelsOf(second)
  t.equal(model.model_sha256, createHash('sha256').update(bytes).digest('hex'))
  t.ok(link.carried() < 9_000_000 * 1.1, `${link.carried()} bytes were carried`)
})

t.test('peers: pause keeps everything here, resume lets it go, cancel ends it', async (t) => {
  const [edge, upstream] = (await startMany(t, 2)) as [TestGateway, TestGateway]
  await connect(edge, upstream)
  const { openState } = await import('../../src/storage/sqlite/state.js')
  const beside = await openState(path.join(edge.dataDir, 'state.db')) // as the command line does
  t.teardown(() => beside.close())
  const { control } = beside
  await control.setPaused(true)
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const { body: one } = await putModel(edge, randomBytes(100))
  const { body: two } = await putModel(edge, randomBytes(100))
  const waiting = await edge.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: one.model_id })
  t.match(waiting.body.error.data, { name: 'UPSTREAM_UNREACHABLE', queued: true })
  const [first, second] = await transfersOf(edge)
  t.same([first.state, second.state], ['queued', 'queued'])
  const cancelled = await edge.call(FL, 'fl.cancel_transfer', { id: second.id })
  t.match(cancelled.body.result, { state: 'failed', last_error: 'cancelled by an operator' })
  await control.setPaused(false)
  await until('the other went', async () => (await modelsOf(upstream)).length === 1)
  t.equal((await modelsOf(upstream))[0].model_hash, one.model_hash)
  const retried = await edge.call(FL, 'fl.retry_transfer', { id: second.id })
  t.match(retried.body.result, { id: second.id })
  await until('the cancelled one went too', async () => (await modelsOf(upstream)).length === 2)
  t.ok(two.model_id)
})

t.test('peers: a store in use stays, a deleted model is still delivered', async (t) => {
  const [edge, upstream] = (await startMany(t, 2)) as [TestGateway, TestGateway]
  const id = await connect(edge, upstream, { upstream_endpoint: 'http://127.0.0.1:9/api/v2/fl/jsonrpc' })
  const { body: info } = await putModel(edge, randomBytes(1000))
  const inUse = await edge.call(MODELS, 'model_store.delete', { model_store_ddc: 'rain' })
  t.match(inUse.body.error.data, { name: 'STORE_IN_USE', waitingTransfers: 1 })
  t.match((await edge.call(MODELS, 'model_store.model.delete', { model_id: info.model_id })).body.result, {
    model_id: info.model_id,
  })
  t.same(await modelsOf(edge), [])
  await edge.call(FL, 'fl.update_upstream_info', { id, upstream_endpoint: upstream.url })
  await until('it arrived', async () => (await modelsOf(upstream)).length === 1)
  await until('and is told', async () => (await transfersOf(edge))[0].state === 'delivered')
  t.match((await edge.call(MODELS, 'model_store.delete', { model_store_ddc: 'rain' })).body.result, {
    model_store_ddc: 'rain',
  })
})

/** Carries so many bytes in all, then nothing, until it leads elsewhere. */
async function startLink(target: number, maxBytes: number) {
  const state = { target, left: maxBytes, carried: 0, isCut: false }
  const open = new Set<net.Socket>()
  const server = net.createServer((client) => {
    if (state.isCut) return client.destroy()
    const upstream = net.connect(state.target, '127.0.0.1')
    open.add(client).add(upstream)
    const cut = () => {
      client.destroy()
      upstream.end() // what was carried arrives
    }
    client.on('data', (chunk) => {
      state.left -= chunk.length
      state.carried += chunk.length
      upstream.write(chunk)
      if (state.left > 0) return
      state.isCut = true
      cut()
    })
    upstream.on('data', (chunk) => client.write(chunk))
    for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    isCut: () => state.isCut,
    carried: () => state.carried,
    reopen(port: number) {
      Object.assign(state, { target: port, left: Number.POSITIVE_INFINITY, isCut: false })
    },
    close() {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
