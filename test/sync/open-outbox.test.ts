import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig, type Settings } from '../../src/config/config.js'
import { clientSettings, openOutbox } from '../../src/sync/open-outbox.js'
import { createThrottle } from '../../src/sync/throttle.js'
import { attemptParts } from '../support/attempts.js'

const { signal } = new AbortController()
const LONG_MS = 1_000_000

/** An upstream on this machine, and the outbox of a gateway with these settings. */
async function setUp(t: Test, sync: Settings, timeZoneMin = 0) {
  const at = await attemptParts(t)
  const requests: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    requests.push(request.headers)
    request.resume()
    if (request.url?.includes('/upload/') !== true) return void response.writeHead(404).end('x'.repeat(5000))
    request.on('end', () => response.end('{"model_id":"theirs"}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await at.state.upstreams.update(at.upstream.upstreamId, { endpoint: `http://127.0.0.1:${port}` })
  const loaded = loadConfig(
    null,
    {},
    { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'], ...sync } },
  )
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const lines: { message: string; fields: Record<string, unknown> }[] = []
  const log = (fields: object, message: string) => void lines.push({ fields: { ...fields }, message })
  const outbox = await openOutbox({
    config: loaded.config,
    state: at.state,
    register: at.deps.register,
    parts: at.deps.parts,
    deltas: null,
    requireSpace: at.deps.requireSpace,
    throttle: createThrottle(
      loaded.config.sync.maxBytesPerSecond,
      () => performance.now(),
      (ms, signal) => pause(ms, undefined, { signal }),
    ),
    timeZoneMin,
    version: '1.2.3',
    log: { debug: log, info: log, warn: log },
  })
  t.teardown(() => outbox.stop())
  /** registers a model and answers what becomes of its feedback */
  const send = async (bytes = Buffer.from('bytes')) => {
    const model = await at.put(bytes)
    const { transferId } = await at.state.transfers.queueFeedback(model, at.upstream.upstreamId)
    return await outbox.expedite(transferId, LONG_MS, signal)
  }
  return { ...at, outbox, requests, lines, send }
}

t.test('open outbox: carries a model with the name and version of this program', async (t) => {
  const { send, requests } = await setUp(t, {})
  t.match(await send(), { transfer: { state: 'delivered', answer: '{"model_id":"theirs"}' }, fault: null })
  t.match(requests.at(-1), { 'user-agent': 'fieldgate/1.2.3', apikey: 'key', secret: 'secret' })
})

t.test('open outbox: sync.paused and sync.windows close it, in local time', async (t) => {
  const paused = await setUp(t, { paused: true, windows: ['00:00-00:00'] })
  t.equal(paused.outbox.closedReason(), 'paused by the configuration (sync.paused)')
  t.match(await paused.send(), { transfer: { state: 'queued', attempts: 0 }, fault: null })
  // the clock of the tests stands at midnight UTC
  t.equal((await setUp(t, { windows: ['09:00-10:00'] })).outbox.closedReason(), 'outside sync.windows')
  t.equal((await setUp(t, { windows: ['09:00-10:00'] }, 540)).outbox.closedReason(), null)
})

t.test(
  'open outbox: hosts and addresses are allowed by sync.allowInsecure and sync.allowLoopback',
  async (t) => {
    const plain = await setUp(t, { allowInsecure: [] })
    t.match(await plain.send(), { transfer: { state: 'failed', lastErrorName: 'BAD_ENDPOINT' } })
    const loopback = await setUp(t, { allowLoopback: false })
    t.match(await loopback.send(), {
      fault: { name: 'UPSTREAM_UNREACHABLE', message: /not allowed for upstreams/ },
    })
  },
)

t.test(
  'open outbox: settings in seconds reach the client in milliseconds, paths as absolute ones',
  async (t) => {
    const loaded = loadConfig(null, {}, { sync: { idleTimeoutS: 7, connectTimeoutS: 3, caFile: 'ca.pem' } })
    if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
    t.match(clientSettings(loaded.config.sync, '1.2.3'), {
      idleTimeoutMs: 7000,
      connectTimeoutMs: 3000,
      caFile: path.resolve('ca.pem'),
      userAgent: 'fieldgate/1.2.3',
    })
  },
)

t.test('open outbox: sync.caFile is read for the first connection', async (t) => {
  const caFile = path.relative(process.cwd(), path.join(t.testdir(), 'missing.pem'))
  const { send } = await setUp(t, { caFile })
  const { fault } = await send()
  t.match(fault, { name: 'INTERNAL', message: /^ENOENT/ })
})

t.test('open outbox: answers are read up to sync.replyBytes', async (t) => {
  const { send, requests } = await setUp(t, { replyBytes: 4096 })
  await send()
  t.equal(requests.length, 2, 'an answer that is too long counts as a server without the method')
})

t.test('open outbox: sends no faster than sync.maxBytesPerSecond', async (t) => {
  const { send } = await setUp(t, { maxBytesPerSecond: 8000 })
  const startedMs = performance.now()
  t.match(await send(Buffer.alloc(6000)), { transfer: { state: 'delivered' } })
  // pieces of a quarter of a second: the third may go half a second after the first
  t.ok(performance.now() - startedMs >= 490)
})

t.test('open outbox: waits between attempts are those of sync.retryBaseS and sync.retryCapS', async (t) => {
  const { random } = Math
  Math.random = () => 1 // the longest wait
  t.teardown(() => {
    Math.random = random
  })
  for (const [retryBaseS, retryCapS, waitMs] of [
    [3000, 40, 40_000],
    [20, 3000, 20_000],
  ] as const) {
    const { send, lines, state } = await setUp(t, { allowLoopback: false, retryBaseS, retryCapS })
    const { transfer } = await send()
    for (let i = 0; lines.length === 0 && i < 1000; i++) await turn()
    t.match(lines[0], { message: 'transfer will be retried', fields: { waitMs } })
    const afterUs = Number(transfer.nextAttemptUs) - state.clock.nowUs()
    t.ok(
      afterUs > (waitMs - 1) * 1000 && afterUs <= waitMs * 1000,
      `${afterUs} µs of the clock that stands still`,
    )
  }
})
