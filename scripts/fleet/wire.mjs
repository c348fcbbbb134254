import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { retryAfterS } from './sources.mjs'

/** Pieces in which a slow link sends. */
const SLOW_PIECE_BYTES = 256
/** Longest answer that is read. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * Fault of an exchange, which a gateway lives with: `name` is that of the hub's error, or of the broken connection;
 * `status` is 0 where there was no answer.
 */
export function faultOf(name, status, { message = name, data = {}, waitS } = {}) {
  return Object.assign(new Error(`${name}: ${message}`), { fault: { name, status, data, waitS } })
}

/**
 * Connections of all gateways of a process to the hub. On a hub of this machine each gateway has an address of its own
 * (127.x.y.z), so that limits for one address hold for one gateway.
 */
export function createWire(flags) {
  const base = new URL(flags.hub)
  const { request, Agent } = base.protocol === 'https:' ? https : http
  const keepAliveMs = flags['keep-alive-s'] * 1000
  const agent = keepAliveMs > 0 ? new Agent({ keepAlive: true, timeout: keepAliveMs }) : false
  const isLocal = base.hostname === '127.0.0.1' && process.platform === 'linux'
  const optionsOf = ({ index }, { method, path, headers }) => ({
    ...{ method, agent, headers, timeout: flags['idle-timeout-s'] * 1000 },
    ...{ host: base.hostname, port: base.port, path: `${base.pathname.replace(/\/$/, '')}${path}` },
    ...(isLocal ? { localAddress: `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}` } : {}),
  })
  const exchange = async (gateway, outgoing) => {
    const outgoingBytes = outgoing.body === undefined ? 0 : Buffer.byteLength(outgoing.body)
    if (gateway.isSlow) await sleep((outgoingBytes / flags['slow-bytes-per-second']) * 500)
    const running = request(optionsOf(gateway, outgoing))
    gateway.pending = running
    try {
      const answered = answerOf(running)
      const sent = gateway.isSlow
        ? sendSlowly(running, outgoing.body, flags['slow-bytes-per-second'])
        : running.end(outgoing.body)
      const [answer] = await Promise.all([answered, sent])
      return answer
    } catch (error) {
      throw faultOf(error.code ?? 'CONNECTION', 0, { message: error.message })
    } finally {
      gateway.pending = undefined
    }
  }
  return {
    exchange,
    close: () => agent !== false && agent.destroy(),
    /** Calls a method. @throws fault for an error in the answer */
    async rpc(gateway, path, method, params, headers) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const answer = await exchange(gateway, {
        ...{ method: 'POST', path, body },
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      })
      return readResult(answer)
    },
  }
}

/** Reads the result of a call or the object of another answer. @throws fault for an error */
export function readResult({ status, text, headers }) {
  const json = parse(text)
  const error = json?.error
  if (error === undefined && status === 200 && json !== undefined) return json.result ?? json
  const name = error?.data?.name ?? (json === undefined ? 'NO_JSON' : `HTTP_${status}`)
  const waitS = retryAfterS(headers['retry-after'], Date.now())
  throw faultOf(name, status, { message: error?.message ?? text.slice(0, 200), data: error?.data, waitS })
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the caller names it
  }
}

function answerOf(running) {
  return new Promise((resolve, reject) => {
    running.on('error', reject)
    running.on('timeout', () => running.destroy(Object.assign(new Error('silence'), { code: 'SILENCE' })))
    running.on('response', (response) => {
      const parts = []
      let bytes = 0
      response.on('data', (part) => {
        bytes += part.length
        if (bytes > MAX_ANSWER_BYTES) running.destroy(new Error(`more than ${MAX_ANSWER_BYTES} bytes`))
        else parts.push(part)
      })
      response.on('error', reject)
      response.on('close', () => {
        if (!response.complete) reject(Object.assign(new Error('half an answer'), { code: 'HALF' }))
      })
      response.on('end', () => {
        const body = Buffer.concat(parts)
        resolve({ status: response.statusCode, headers: response.headers, body, text: body.toString() })
      })
    })
  })
}

async function sendSlowly(running, body = '', bytesPerSecond) {
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += SLOW_PIECE_BYTES) {
    await sleep((SLOW_PIECE_BYTES / bytesPerSecond) * 1000)
    if (running.destroyed) return
    running.write(bytes.subarray(at, at + SLOW_PIECE_BYTES))
  }
  running.end()
}
