import { FL, MODELS } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { readBlobs } from './ledger.mjs'
import { allModels, createModelBytes, put, waitForOutbox } from './models.mjs'
import { connect, createNode, makeWorkspace } from './node.mjs'
import { startProxy } from './proxy.mjs'

/**
 * Bad link: a model crosses a link that cuts every connection after 64 to 256 KiB, is 20 ms late, and stops
 * for seconds now and then; then an aggregated one comes back over it. Bytes on the wire at most 1.10 × the
 * size each way.
 */
const flags = readFlags({
  sizeBytes: 200_000_000,
  seed: 1,
  latencyMs: 20,
  stallEvery: 100,
  stallMs: 3000,
  maxRatio: 1.1,
})
const random = createRandom(flags.seed)
const workspace = makeWorkspace('link')
const edge = await createNode(workspace, 'edge', { FIELDGATE_SYNC__WAIT_S: '3600' })
const upstream = await createNode(workspace, 'upstream')
await upstream.start()
await edge.start()
const proxy = await startProxy({
  target: upstream.port,
  cutBytes: [64 * 1024, 256 * 1024],
  latencyMs: flags.latencyMs,
  stallEvery: flags.stallEvery,
  stallMs: flags.stallMs,
  random,
})
await connect(edge, upstream, 'load', `http://127.0.0.1:${proxy.port}`)
const faults = []
const modelOf = createModelBytes(flags.sizeBytes)

const sent = modelOf(flags.sizeBytes)
const pushMs = performance.now()
await put(edge, sent)
await waitForOutbox(edge)
const push = { seconds: seconds(pushMs), ...ratios(flags.sizeBytes) }
const there = await allModels(upstream)
if (there.length !== 1 || there[0].model_sha256 !== sent.sha256)
  faults.push(`found ${there.length} models upstream, expected the one that was sent`)
if (readBlobs(upstream.dataDir).get(sent.sha256) !== sent.sha256)
  faults.push('the bytes upstream are other ones')
if (push.upRatio > flags.maxRatio)
  faults.push(`${push.upRatio} × the size was sent, expected at most ${flags.maxRatio}`)

const aggregated = modelOf(flags.sizeBytes)
await put(upstream, { ...aggregated, method: 'model_store.model.put_aggregated' })
Object.assign(proxy.counts, { up: 0, down: 0, connections: 0 })
const fetchMs = performance.now()
await fetchAggregated()
const fetched = { seconds: seconds(fetchMs), ...ratios(flags.sizeBytes) }
const here = await edge.rpc(MODELS, 'model_store.model.get_info', {
  model_store_ddc: 'load',
  conds: { '=': ['model_state', 40] },
})
if (here[0]?.model_sha256 !== aggregated.sha256) faults.push('the aggregated model did not come back whole')
if (fetched.downRatio > flags.maxRatio)
  faults.push(`${fetched.downRatio} × the size was fetched, expected at most ${flags.maxRatio}`)
proxy.close()
for (const node of [edge, upstream]) await node.kill('SIGTERM')
report('bad-link', { sizeBytes: flags.sizeBytes, push, fetch: fetched }, faults)

/** It may outlast the caller's patience: then it goes on in the background. */
async function fetchAggregated() {
  try {
    await edge.rpc(FL, 'fl.request_transfer', { model_store_ddc: 'load' })
  } catch (error) {
    if (error.rpc?.data?.queued !== true) throw error
    await waitForOutbox(edge)
  }
}

function ratios(sizeBytes) {
  const { connections, up, down } = proxy.counts
  return { connections, upRatio: round(up / sizeBytes), downRatio: round(down / sizeBytes) }
}

function round(value) {
  return Math.round(value * 10_000) / 10_000
}

function seconds(sinceMs) {
  return Math.round((performance.now() - sinceMs) / 100) / 10
}
