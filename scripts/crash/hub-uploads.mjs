import '../test/load-typescript.mjs'
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hubVerbs, startHubProcess } from '../hub-process.mjs'
import { createOwner } from '../owner.mjs'
import { createRandom } from '../random.mjs'
import { beginUpload, sendBytes, tusHeaders } from '../tus.mjs'
import { readFlags, report } from './flags.mjs'

/**
 * Resumable uploads of a hub: the process that takes the bytes is killed at random instants, its directory is removed, and
 * the upload goes on at another one, at the offset that it tells. No acknowledged offset may go back, and the model has
 * to have its bytes.
 */
const { makeHub, startEngines } = await import('../../test/support/hub.ts')

const flags = readFlags({ kills: 20, sizeBytes: 200_000_000, seed: 1 })
const STORE = '/api/v2/model_store'
/** Bytes a second of the sender: an upload takes several kills. */
const BYTES_PER_S = 40_000_000
const CHUNK_BYTES = 256 * 1024
/** Share of the requests whose process is killed. The others may end: registration takes longer than a process lives. */
const KILLED = 0.85

const random = createRandom(flags.seed)
const owner = createOwner()
const faults = []
const counts = { models: 0, kills: 0 }
try {
  const place = await makeHub(owner, await startEngines(owner))
  const key = hubVerbs(place, 'verbs')('hub', 'init')
  const headers = { apikey: key.apiKey, secret: key.secret }
  let started = 0
  const start = async () => {
    const running = await startHubProcess(place, `process-${started++}`, { onLog: () => undefined })
    owner.teardown(running.kill)
    return running
  }
  let [taker, other] = [await start(), await start()]
  while (counts.kills < flags.kills) {
    const bytes = randomBytes(flags.sizeBytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const at = await beginUpload(taker.url, headers, { sizeBytes: bytes.length, sha256 })
    let offset = 0
    let modelId = null
    while (modelId === null) {
      const sending = send(`${taker.url}${at}`, headers, bytes, offset)
      if (counts.kills < flags.kills && random() < KILLED) {
        await sleep(200 + random() * 1500)
        await taker.kill()
        counts.kills++
        modelId = await sending // it may have been registered before
        rmSync(taker.dataDir, { recursive: true, force: true })
        ;[taker, other] = [other, await start()]
      } else modelId = await sending
      if (modelId !== null) break
      const told = await offsetOf(`${taker.url}${at}`, headers)
      if (told < offset) faults.push(`found the offset ${told}, expected at least ${offset}`)
      offset = told
    }
    counts.models++
    const found = await digestAt(`${taker.url}${STORE}/models/${modelId}/file`, headers)
    if (found !== sha256) faults.push(`found a model of the SHA-256 ${found}, expected ${sha256}`)
  }
} finally {
  await owner.end()
}
report('hub-uploads', { seed: flags.seed, ...counts }, faults)

/** Sends the rest. @returns id of the model; null for a connection that broke */
async function send(url, headers, bytes, offset) {
  const body = async function* () {
    for (let at = offset; at < bytes.length; at += CHUNK_BYTES) {
      yield bytes.subarray(at, at + CHUNK_BYTES)
      await sleep((CHUNK_BYTES / BYTES_PER_S) * 1000)
    }
  }
  try {
    const response = await sendBytes(url, headers, offset, body())
    await response.text()
    return response.headers.get('x-model-id')
  } catch {
    return null // the process was killed: the offset tells what is there
  }
}

/** Asks where to go on. */
async function offsetOf(url, headers) {
  const response = await fetch(url, { method: 'HEAD', headers: tusHeaders(headers) })
  if (!response.ok) throw new Error(`found ${response.status} for the offset`)
  return Number(response.headers.get('upload-offset'))
}

async function digestAt(url, headers) {
  const hash = createHash('sha256')
  for await (const chunk of (await fetch(url, { headers })).body) hash.update(chunk)
  return hash.digest('hex')
}
