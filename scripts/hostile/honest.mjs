// A process of its own that calls the gateway as an app on site does: /healthz and small calls of many kinds,
// each at its time whether or not the last one was answered, so that a pause of the gateway counts in full.
import http from 'node:http'

const HEALTH_EVERY_MS = 20
const CALL_EVERY_MS = 50
const GIVE_UP_MS = 15_000
/** A call that takes longer counts as one that a user notices. */
const SLOW_MS = 250

const { port, headers, calls } = JSON.parse(process.argv[2])
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
let samples = fresh()
let next = 0
/** Calls that have no answer yet. */
const open = new Set()

setInterval(() => send('health', { method: 'GET', path: '/healthz' }), HEALTH_EVERY_MS)
setInterval(() => {
  const { path, body } = calls[next++ % calls.length]
  send('calls', { method: 'POST', path, headers }, body)
}, CALL_EVERY_MS)

process.on('message', () => {
  process.send({ ...samples, isWaiting: isWaiting() })
  samples = fresh()
})
process.on('disconnect', () => process.exit())

function fresh() {
  return { health: [], calls: [], failures: {}, lastBadAtMs: null }
}

function isWaiting() {
  const now = performance.now()
  return [...open].some(({ startedAt }) => now - startedAt > SLOW_MS)
}

function send(kind, options, body) {
  const startedAt = performance.now()
  const call = { startedAt }
  open.add(call)
  let isOver = false
  const over = (failure) => {
    if (isOver) return
    isOver = true
    open.delete(call)
    const tookMs = performance.now() - startedAt
    samples[kind].push(tookMs)
    if (failure !== null) {
      const name = `${options.path}: ${failure}`
      samples.failures[name] = (samples.failures[name] ?? 0) + 1
    }
    if (failure !== null || tookMs > SLOW_MS) samples.lastBadAtMs = Date.now()
  }
  const request = http.request(
    { agent, host: '127.0.0.1', port, timeout: GIVE_UP_MS, ...options },
    (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.once('error', (error) => over(error.code))
      response.once('end', () => over(faultOf(response.statusCode, text)))
    },
  )
  request.once('timeout', () => request.destroy(new Error(`no answer within ${GIVE_UP_MS} ms`)))
  request.once('error', (error) => over(error.code ?? error.message))
  request.end(body)
}

function faultOf(status, text) {
  if (status !== 200) return `HTTP ${status} ${text.slice(0, 200)}`
  if (/^\{"jsonrpc":"2.0","error"/.test(text)) return text.slice(0, 200)
  return null
}
