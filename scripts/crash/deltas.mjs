import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FL, MODELS } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { leftovers, readBlobs } from './ledger.mjs'
import { allModels, put } from './models.mjs'
import { connect, createNode, makeWorkspace } from './node.mjs'
import { startProxy } from './proxy.mjs'

/**
 * Delta test: rounds of a model, each a little different, go up and aggregates come down as deltas over a slow link
 * that cuts connections, while either side is killed in the middle. Each round must arrive with its digest, most of
 * them as a delta, and nothing half is left. `--kills 100` is the long form.
 */
const flags = readFlags({ kills: 100, weights: 500_000, bytesPerSecond: 800_000, seed: 1, waitS: 60 })
const random = createRandom(flags.seed)
const workspace = makeWorkspace('deltas')
const rate = {
  FIELDGATE_SYNC__MAX_BYTES_PER_SECOND: String(flags.bytesPerSecond),
  FIELDGATE_SYNC__WAIT_S: '5',
}
const edge = await createNode(workspace, 'edge', rate)
const upstream = await createNode(workspace, 'upstream')
const faults = []
const facts = { kills: 0, up: 0, down: 0, asDelta: 0, killedInside: 0, bytes: 0, sent: 0 }
await upstream.start()
await edge.start()
const proxy = await startProxy({ target: upstream.port, cutBytes: [300_000, 1_500_000], random })
await connect(edge, upstream, 'load', `http://127.0.0.1:${proxy.port}`)
const weights = Float32Array.from({ length: flags.weights }, () => random() * 2 - 1)
await travel('up', false)
try {
  for (; facts.kills < flags.kills && faults.length < 5; facts.kills++)
    await travel(random() < 0.6 ? 'up' : 'down', true)
  for (const node of [edge, upstream]) {
    await node.kill('SIGTERM')
    await node.start() // its sweep takes what the kills left
  }
  await sleep(2000)
  for (const node of [edge, upstream]) {
    faults.push(...leftovers(node.dataDir).map((file) => `${node.name}: ${file} was left behind`))
    for (const [name, digest] of readBlobs(node.dataDir))
      if (name !== digest) faults.push(`${node.name}: the blob ${name} has the digest ${digest}`)
    const folder = path.join(node.dataDir, 'deltas')
    const unfinished = existsSync(folder) ? readdirSync(folder).filter((name) => name.includes('.part')) : []
    faults.push(...unfinished.map((name) => `${node.name}: deltas/${name} was left behind`))
  }
  if (facts.asDelta * 2 < facts.kills)
    faults.push(`${facts.asDelta} of ${facts.kills} rounds went as deltas, expected at least half`)
} finally {
  proxy.close()
  for (const node of [edge, upstream]) await node.kill('SIGKILL')
}
report('deltas', { ...facts, connections: proxy.counts.connections }, faults)

/** Lets one round go to the other side, with a kill of either one on the way, and checks what arrived. */
async function travel(direction, isKilled) {
  for (let i = 0; i < weights.length; i++) weights[i] += (random() - 0.5) * 1e-4
  const bytes = safetensors(weights)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const [from, to, method] =
    direction === 'up'
      ? [edge, upstream, 'model_store.model.put']
      : [upstream, edge, 'model_store.model.put_aggregated']
  await put(from, { method, sizeBytes: bytes.length, chunks: [bytes], meta: { round: facts.kills } })
  let asking = direction === 'down' ? fetchAggregated() : undefined
  if (isKilled) {
    await sleep(50 + random() * 600)
    const isInside = !(await holds(to, sha256).catch(() => false))
    const victim = random() < 0.5 ? edge : upstream
    await victim.kill('SIGKILL')
    await victim.start()
    if (isInside) facts.killedInside++
  }
  const endsAt = performance.now() + flags.waitS * 1000
  while (!(await holds(to, sha256))) {
    if (performance.now() > endsAt)
      return void faults.push(`round ${facts.kills} ${direction} did not arrive`)
    await asking
    if (direction === 'down') asking = fetchAggregated()
    await sleep(100)
  }
  await asking
  facts[direction]++
  facts.bytes += bytes.length
  await note(sha256)
  if (readBlobs(to.dataDir).get(sha256) !== sha256) faults.push(`round ${facts.kills} has other bytes`)
  const twice = (await allModels(to)).filter((model) => model.model_sha256 === sha256).length
  if (twice !== 1) faults.push(`round ${facts.kills} ${direction} is ${twice} times there`)
}

/** Counts a transfer that went as a delta. */
async function note(sha256) {
  const [model] = await edge.rpc(MODELS, 'model_store.model.get_info', {
    model_store_ddc: 'load',
    conds: { '=': ['model_sha256', sha256] },
  })
  for (let tries = 0; tries < 50; tries++) {
    const all = await edge.rpc(FL, 'fl.list_transfers', {
      conds: { '=': ['state', 'delivered'] },
      limit: 1000,
    })
    const transfer = all.findLast((one) => one.model_id === model?.model_id || one.delta?.sha256 === sha256)
    if (transfer === undefined) {
      await sleep(100)
      continue
    }
    facts.sent += transfer.bytes_sent
    if (transfer.bytes_saved > 0) facts.asDelta++
    return
  }
  faults.push(`round ${facts.kills} has no delivered transfer`)
}

async function holds(node, sha256) {
  const all = await allModels(node).catch((error) => {
    if (error.rpc?.data?.name !== 'UNKNOWN_STORE') throw error // made with the first model
    return []
  })
  return all.some((model) => model.model_sha256 === sha256)
}

/** It may outlast the caller's patience, or the caller's gateway. */
async function fetchAggregated() {
  await edge.rpc(FL, 'fl.request_transfer', { model_store_ddc: 'load' }).catch(() => undefined)
}

function safetensors(values) {
  const shape = { weights: { dtype: 'F32', shape: [values.length], data_offsets: [0, values.byteLength] } }
  const header = Buffer.from(JSON.stringify(shape).padEnd(128))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  return Buffer.concat([length, header, Buffer.from(values.buffer.slice(0))])
}
