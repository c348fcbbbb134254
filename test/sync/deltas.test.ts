import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Settings } from '../../src/config/config.js'
import { startLink } from '../support/link.js'
import { connect, FL, LOCAL_SYNC, modelsOf, putModel, transfersOf, until } from '../support/models.js'
import { safetensors } from '../support/safetensors.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Weights that differ between rounds by a little in each of them. */
function round(n: number, count = 400_000): Buffer<ArrayBuffer> {
  const weights = Float32Array.from(
    { length: count },
    (_, i) => Math.sin(i * 1.7) + (Math.sin(i * i + n) * n) / 1000,
  )
  const bytes = new Uint8Array(weights.buffer)
  const file = safetensors([{ name: 'weights', dtype: 'F32', shape: [count], bytes }])
  return Buffer.from(file) as Buffer<ArrayBuffer>
}

async function startPair(t: Test, settings: { edge?: Settings; top?: Settings } = {}) {
  const dir = t.testdir()
  const open = (name: 'edge' | 'top') =>
    startGateway(t, {
      settings: { sync: { ...LOCAL_SYNC, ...settings[name] } },
      dataDir: path.join(dir, name),
    })
  return { dir, open, edge: await open('edge'), top: await open('top') }
}

/** Puts a model and waits until it was delivered. @returns its transfer */
async function deliver(edge: TestGateway, bytes: Buffer<ArrayBuffer>) {
  const { body } = await putModel(edge, bytes)
  const find = async () => (await transfersOf(edge)).find(({ model_id }) => model_id === body.model_id)
  await until('it is delivered', async () => ['delivered', 'failed'].includes((await find())?.state))
  return await find()
}

async function holds(gateway: TestGateway, bytes: Uint8Array): Promise<boolean> {
  return (await modelsOf(gateway)).some(({ model_sha256 }) => model_sha256 === sha256(bytes))
}

const sentBytes = (gateway: TestGateway) =>
  gateway.logLines.filter(({ msg }) => msg === 'transfer delivered').map(({ bytes }) => Number(bytes))
const deltasOf = ({ dataDir }: TestGateway) => readdirSync(path.join(dataDir, 'deltas'))

t.test('deltas: a round goes up as differences, and the aggregate comes down as such', async (t) => {
  const { edge, top } = await startPair(t)
  await connect(edge, top)
  t.match(await deliver(edge, round(0)), { state: 'delivered', delta: null, bytes_saved: 0 })
  const sent = await deliver(edge, round(1))
  t.match(sent, { state: 'delivered', delta: { base: sha256(round(0)), error: null } })
  t.ok(await holds(top, round(1)))
  const [, carried = 0] = sentBytes(edge)
  t.equal(carried, sent.delta.size, 'the metric counts what is on the wire')
  t.same([sent.bytes_sent, sent.bytes_saved], [carried, round(1).length - carried])
  t.ok(carried < 0.7 * round(1).length, `${carried} of ${round(1).length}`)
  t.same(deltasOf(edge), [], 'a delivered delta is removed')
  const listed = await transfersOf(edge, { conds: { '>': ['bytes_saved', 0] } })
  t.same(
    listed.map(({ id }) => id),
    [sent.id],
  )

  await putModel(top, round(2), { method: 'model_store.model.put_aggregated', data: { round: 1 } })
  const { body } = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.match(body.result, { model_state: 40, model_sha256: sha256(round(2)) })
  const fetched = (await transfersOf(edge, { conds: { '=': ['kind', 'fetch'] } }))[0]
  t.match(fetched, { state: 'delivered', delta: { error: null }, bytes_sent: fetched.delta.size })
  t.equal(fetched.bytes_saved, round(2).length - fetched.delta.size)
  t.ok(fetched.bytes_sent < 0.7 * round(2).length)
  t.equal(sentBytes(edge)[2], fetched.bytes_sent)

  t.match(
    await deliver(edge, round(3)),
    { delta: { base: sha256(round(2)) } },
    'the fetched one is most alike',
  )
  const same = await deliver(edge, round(3))
  t.match(same, { state: 'delivered', bytes_saved: round(3).length })
  t.equal(sentBytes(edge).at(-1), 0, 'an unchanged round is announced only')
})

t.test('deltas: whole models where one side has them off, and where they are not smaller', async (t) => {
  const { edge, top } = await startPair(t, { top: { deltas: false } })
  await connect(edge, top)
  await deliver(edge, round(0))
  t.match(await deliver(edge, round(1)), { state: 'delivered', delta: null })
  const { edge: other, top: taking } = await startPair(t)
  await connect(other, taking)
  const [one, two] = [randomBytes(600_000), randomBytes(600_000)] as [
    Buffer<ArrayBuffer>,
    Buffer<ArrayBuffer>,
  ]
  await deliver(other, one)
  const sent = await deliver(other, two)
  t.match(sent, { state: 'delivered', bytes_sent: two.length, bytes_saved: 0 })
  t.match(sent.delta, { base: sha256(one), size: null, error: /found more than/ })
  t.ok(await holds(taking, two))
})

t.test(
  'deltas: an upload that is cut goes on with the same bytes after both sides are new processes',
  async (t) => {
    const { open, edge, top } = await startPair(t, { edge: { maxBytesPerSecond: 4_000_000 } })
    const link = await startLink(t, Number(new URL(top.url).port))
    await connect(edge, { url: link.url, admin: top.admin })
    await deliver(edge, round(0))
    const before = link.carried()
    link.cutAfter(before + 500_000)
    await putModel(edge, round(1))
    await until('the link is cut', () => link.isCut())
    await until('the delta is on its way', async () => (await transfersOf(edge))[1].delta !== null)
    await Promise.all([edge.gateway.stop(), top.gateway.stop()])
    const size = statSync(path.join(edge.dataDir, 'deltas', deltasOf(edge)[0] ?? '')).size
    t.ok(size > 700_000, `it was cut in the middle of ${size}`)
    const again = await open('top')
    link.reopen(Number(new URL(again.url).port))
    const sender = await open('edge')
    await until('it arrived', async () => (await transfersOf(sender))[1].state === 'delivered')
    t.match((await transfersOf(sender))[1], { delta: { size, error: null }, bytes_sent: size })
    t.ok(await holds(again, round(1)))
    const carried = link.carried() - before
    t.ok(carried < size * 1.25, `${carried} bytes for a delta of ${size}`)
  },
)

t.test('deltas: a fetch that is cut goes on with the same bytes', async (t) => {
  const { open, edge, top } = await startPair(t)
  const link = await startLink(t, Number(new URL(top.url).port))
  await connect(edge, { url: link.url, admin: top.admin })
  await deliver(edge, round(0))
  await putModel(top, round(1), { method: 'model_store.model.put_aggregated', data: { round: 1 } })
  link.cutAfter(link.carried() + 500_000)
  const asked = edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  await until('the link is cut', () => link.isCut())
  const fetchOf = async (gateway: TestGateway) =>
    (await transfersOf(gateway, { conds: { '=': ['kind', 'fetch'] } }))[0]
  await until('some of the delta is here', async () => (await fetchOf(edge))?.bytes_sent > 0)
  await asked
  const { bytes_sent: received, delta } = await fetchOf(edge)
  await Promise.all([edge.gateway.stop(), top.gateway.stop()])
  const again = await open('top')
  const before = link.carried()
  link.reopen(Number(new URL(again.url).port))
  const fetcher = await open('edge')
  await until('it arrived', async () => (await fetchOf(fetcher)).state === 'delivered')
  t.match(await fetchOf(fetcher), { delta, bytes_sent: delta.size })
  t.ok(received > 0 && received < delta.size)
  t.ok(link.carried() - before < delta.size - received + 100_000, 'only the rest was carried')
  t.ok(await holds(fetcher, round(1)))
})

t.test(
  'deltas: a base that is gone before the rebuild, and a flipped bit: the model itself follows',
  async (t) => {
    const { edge, top } = await startPair(t)
    await connect(edge, top)
    await deliver(edge, round(0))
    rmSync(path.join(top.dataDir, 'models', sha256(round(0)).slice(0, 2), sha256(round(0))))
    const sent = await deliver(edge, round(1))
    t.match(sent, { state: 'delivered', delta: null, bytes_sent: round(1).length })
    t.ok(await holds(top, round(1)))
  },
)
