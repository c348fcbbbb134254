// Model rounds between two gateways over real HTTP, up and down: bytes on the wire, as a proxy between them counts
// them in both directions, requests and headers included. A 50 MB safetensors file of float32, made by a seed.
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from './gateway.mjs'
import { baseWeights, file, ROUNDS, TYPES } from './model-files.mjs'

const FL = '/api/v2/fl/jsonrpc'
const MODELS = '/api/v2/model_store/jsonrpc'
const LOCAL = {
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
  FIELDGATE_SYNC__WAIT_S: '600',
}

export async function run() {
  const top = await startGateway({ env: LOCAL })
  const edge = await startGateway({ env: LOCAL })
  const link = await startLink(top.port)
  try {
    await call(edge, FL, 'fl.create_upstream_info', {
      model_store_ddc: 'rain',
      create: true,
      upstream_endpoint: `${link.url}${FL}`,
      upstream_apikey: top.headers.APIKey,
      upstream_secret: top.headers.Secret,
      upstream_model_store_ddc: 'rain',
    })
    const weights = baseWeights()
    const base = file('F32', TYPES.F32, weights)
    await up(edge, link, 'first', base)
    const rows = []
    for (const [round, change] of Object.entries(ROUNDS)) {
      const next = file('F32', TYPES.F32, change(weights))
      await up(edge, link, round, base) // the base is the newest model of its kind
      const sent = await up(edge, link, round, next)
      rows.push(rowOf(round, 'up', next, sent))
    }
    await down(edge, top, link, base)
    for (const [round, change] of Object.entries(ROUNDS)) {
      const next = file('F32', TYPES.F32, change(weights))
      rows.push(rowOf(round, 'down', next, await down(edge, top, link, next)))
      if (round !== 'unchanged') await down(edge, top, link, base)
    }
    console.table(rows)
    console.log(`peak RSS: sender ${edge.peakRssMb()} MB, receiver ${top.peakRssMb()} MB`)
  } finally {
    link.close()
    await edge.stop()
    await top.stop()
  }
}

/** Puts a model on the gateway, and waits until it was delivered. */
async function up(edge, link, kind, bytes) {
  const before = link.carried()
  const startedAt = performance.now()
  const { model_id: id } = await put(edge, 'model_store.model.put', kind, bytes)
  const conds = { '=': ['model_id', id] }
  for (;;) {
    const [transfer] = await call(edge, FL, 'fl.list_transfers', { conds })
    if (transfer?.state === 'failed') throw new Error(transfer.last_error)
    if (transfer?.state === 'delivered') return result(before, startedAt, link, transfer)
    await sleep(50)
  }
}

/** Puts an aggregated model upstream, and fetches it. */
async function down(edge, top, link, bytes) {
  await put(top, 'model_store.model.put_aggregated', 'aggregated', bytes, { round: 1 })
  const before = link.carried()
  const startedAt = performance.now()
  await call(edge, FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  const query = { conds: { '=': ['kind', 'fetch'] }, order: '-id', limit: 1 }
  const [transfer] = await call(edge, FL, 'fl.list_transfers', query)
  return result(before, startedAt, link, transfer)
}

function result(before, startedAt, link, transfer) {
  const after = link.carried()
  const seconds = (performance.now() - startedAt) / 1000
  return { out: after.up - before.up, back: after.down - before.down, seconds, transfer }
}

function rowOf(round, way, bytes, { out, back, seconds, transfer }) {
  const wire = way === 'up' ? out : back
  const percent = Math.round((wire / bytes.length) * 1000) / 10
  return {
    round,
    way,
    'bytes that way': wire,
    '% of the file': percent,
    'bytes back': way === 'up' ? back : out,
    'delta bytes': transfer.delta?.size ?? null,
    seconds: Math.round(seconds * 10) / 10,
  }
}

async function put({ url, headers }, method, kind, bytes, more = {}) {
  const form = new FormData()
  const data = { model_store_ddc: 'rain', model_kind: kind, model_description: '', model_meta: {}, ...more }
  form.set('data', JSON.stringify(data))
  form.set('file', new Blob([bytes]), 'model.safetensors')
  const { 'Content-Type': _, ...signIn } = headers
  const target = `${url}${MODELS}/upload/${method}`
  const response = await fetch(target, { method: 'POST', headers: signIn, body: form })
  if (response.status !== 200) throw new Error(await response.text())
  return await response.json()
}

async function call({ url, headers }, path, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
  const { result, error } = await response.json()
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

/** A proxy that counts bytes in each direction. */
async function startLink(port) {
  const carried = { up: 0, down: 0 }
  const server = net.createServer((client) => {
    const target = net.connect(port, '127.0.0.1')
    client.on('data', (chunk) => {
      carried.up += chunk.length
    })
    target.on('data', (chunk) => {
      carried.down += chunk.length
    })
    client.pipe(target)
    target.pipe(client)
    for (const socket of [client, target])
      socket.on('error', () => {
        client.destroy()
        target.destroy()
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    carried: () => ({ ...carried }),
    close: () => server.close(),
  }
}
