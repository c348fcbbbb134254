import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { FL, MODELS } from '../api-paths.mjs'

/** A call that moves nothing for so long is a fault: a gateway refuses what it cannot do, or ends. */
export const ANSWER_MS = 60_000

/**
 * Puts a model over a separate connection.
 *
 * @param chunks iterable of buffers
 * @returns the model_info. Rejects when the connection broke: then the outcome is unknown, and nothing was
 *   acknowledged
 */
export function put(
  node,
  { store = 'load', method = 'model_store.model.put', sizeBytes, chunks, meta = {} },
) {
  const boundary = `b${randomBytes(8).toString('hex')}`
  const data = JSON.stringify({
    model_store_ddc: store,
    model_kind: 'k',
    model_description: 'd',
    model_meta: meta,
  })
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="data"\r\n\r\n${data}\r\n--${boundary}\r\n` +
      'Content-Disposition: form-data; name="file"; filename="m"\r\nContent-Type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return new Promise((resolve, reject) => {
    const request = http.request(`${node.url}${MODELS}/upload/${method}`, {
      method: 'POST',
      agent: false,
      headers: {
        ...node.headers,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': head.length + sizeBytes + tail.length,
      },
    })
    request.on('error', reject)
    request.setTimeout(ANSWER_MS, () => request.destroy(noAnswer()))
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text))
        else
          reject(
            Object.assign(new Error(`put: ${response.statusCode} ${text}`), { status: response.statusCode }),
          )
      })
    })
    void (async () => {
      try {
        request.write(head)
        for await (const chunk of chunks) {
          if (request.destroyed) return
          if (!request.write(chunk)) await drained(request)
        }
        request.end(tail)
      } catch (error) {
        reject(error)
      }
    })()
  })
}

function noAnswer() {
  return Object.assign(new Error(`no answer in ${ANSWER_MS / 1000} s`), { name: 'TimeoutError' })
}

function drained(request) {
  return new Promise((resolve) => {
    const go = () => {
      request.off('drain', go).off('close', go)
      resolve()
    }
    request.on('drain', go).on('close', go)
  })
}

/** Models of one kind each: unique bytes of any size, without generating all of them again. */
export function createModelBytes(maxBytes, seed = randomBytes(4).readUInt32LE()) {
  const pool = randomBytes(Math.min(maxBytes, 64 * 1024 * 1024))
  let count = 0
  return (sizeBytes) => {
    const mark = Buffer.alloc(Math.min(16, sizeBytes))
    if (sizeBytes >= 16) {
      mark.writeUInt32LE(seed, 0)
      mark.writeUInt32LE(count++, 4)
    }
    const chunks = [mark]
    for (let left = sizeBytes - mark.length; left > 0; ) {
      const chunk = pool.subarray(0, Math.min(left, 1024 * 1024))
      chunks.push(chunk)
      left -= chunk.length
    }
    const hash = createHash('sha256')
    for (const chunk of chunks) hash.update(chunk)
    return { sizeBytes, chunks, sha256: hash.digest('hex') }
  }
}

/** Every model of a store. */
export async function allModels(node, store = 'load') {
  return await node.rpc(MODELS, 'model_store.model.get_info', { model_store_ddc: store })
}

/** Waits until nothing is queued or being sent, for as long as something still moves. */
export async function waitForOutbox(node, stillMs = 120_000) {
  const waits = { in: ['state', ['queued', 'sending']] }
  let last = ''
  let movedAtMs = performance.now()
  for (;;) {
    const [first] = await node.rpc(FL, 'fl.list_transfers', { conds: waits, limit: 1 })
    if (first === undefined) return
    const state = `${first.id} ${first.bytes_sent}`
    if (state !== last) movedAtMs = performance.now()
    if (performance.now() - movedAtMs > stillMs)
      throw new Error(`a transfer does not move: ${JSON.stringify(first)}`)
    last = state
    await sleep(100)
  }
}
