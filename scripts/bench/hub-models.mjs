// Models put to a hub: whole, and by resumable uploads in one request or in many. Engines, hub and sender share the cores.
// Options: --megabytes=N of a model, --rounds=N; BENCH_PROGRAM names another build.
import { createHash, randomBytes } from 'node:crypto'
import { MODELS } from '../api-paths.mjs'
import { cpuS, statusMb, writtenBytes } from '../proc.mjs'
import { beginUpload, MODEL_FACTS, sendBytes } from '../tus.mjs'
import { startHub, withEngines } from './hub-engines.mjs'
import { spread } from './load.mjs'
import { option } from './options.mjs'

/** Bytes of each request of the upload in many. */
const REQUEST_BYTES = 8 * 1024 * 1024

export const run = () =>
  withEngines(async (owner) => {
    const started = await startHub(owner)
    const hub = { ...started, store: started.engines.swift.pid }
    const megabytes = option('megabytes', 200)
    console.log(`models of ${megabytes} MB, ${option('rounds', 3)} of each`)
    const whole = (bytes) => putWhole(hub, bytes)
    await measure(hub, 'whole', whole)
    await measure(hub, 'resumable, one request', (bytes) => putResumable(hub, bytes, bytes.length))
    await measure(hub, 'resumable, requests of 8 MiB', (bytes) => putResumable(hub, bytes, REQUEST_BYTES))
    await measure(hub, 'whole again', whole)
    console.log(`hub process ${statusMb(hub.pid, 'VmHWM').toFixed(0)} MB RSS at most`)
  })

async function measure(hub, title, put) {
  const used = { seconds: [], hub: [], store: [], written: [] }
  for (let round = 0; round < option('rounds', 3); round++) {
    const bytes = randomBytes(option('megabytes', 200) * 1e6)
    const before = [cpuS(hub.pid), cpuS(hub.store), writtenBytes(hub.pid), performance.now()]
    await put(bytes)
    used.seconds.push((performance.now() - before[3]) / 1000)
    used.hub.push(cpuS(hub.pid) - before[0])
    used.store.push(cpuS(hub.store) - before[1])
    used.written.push((writtenBytes(hub.pid) - before[2]) / bytes.length)
  }
  const median = (values) => spread(values).p50Ms.toFixed(2)
  console.log(
    `${title.padEnd(30)} ${median(used.seconds)} s, processor of the hub ${median(used.hub)} s, of the store ${median(used.store)} s, ` +
      `${median(used.written)} times its bytes written by the hub`,
  )
}

async function putWhole({ url, headers }, bytes) {
  const form = new FormData()
  form.set('data', JSON.stringify(MODEL_FACTS))
  form.set('file', new Blob([bytes]), 'model.dat')
  const target = `${url}${MODELS}/upload/model_store.model.put`
  await expectStatus(await fetch(target, { method: 'POST', headers, body: form }), 200)
}

async function putResumable({ url, headers }, bytes, requestBytes) {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const at = `${url}${await beginUpload(url, headers, { sizeBytes: bytes.length, sha256 })}`
  for (let offset = 0; offset < bytes.length; offset += requestBytes) {
    const response = await sendBytes(at, headers, offset, bytes.subarray(offset, offset + requestBytes))
    await expectStatus(response, offset + requestBytes < bytes.length ? 204 : 200)
  }
}

async function expectStatus(response, expected) {
  const text = await response.text()
  if (response.status !== expected) throw new Error(`found ${response.status} ${text}, expected ${expected}`)
}
