import t from 'tap'
import { createMetrics } from '../../src/http/metrics.js'
import { readExposition } from '../support/exposition.js'
import { pairHeaders, post, startGateway } from '../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'

t.test('metrics: the page follows the grammar and contains every metric of the specification', async (t) => {
  const { url, admin, call } = await startGateway(t)
  await call(SESSION, 'session.open_session', {})
  await call(SESSION, 'session.open_session', { expires_in: -1 })
  for (let i = 0; i < 20; i++) await call(SESSION, `session.made_up_${i}`)
  await post(url + SESSION, '{}', { APIKey: 'x', Secret: 'y' })
  const page = await fetch(`${url}/metrics`, { headers: pairHeaders(admin) })
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const { families, sample } = readExposition(await page.text())
  for (const name of [
    'fieldgate_calls_total',
    'fieldgate_call_duration_seconds',
    'fieldgate_http_responses_total',
    'fieldgate_sign_in_failures_total',
    'fieldgate_event_loop_delay_seconds',
    'process_resident_memory_bytes',
    'fieldgate_wal_bytes',
    'fieldgate_disk_free_bytes',
    'fieldgate_outbox_queued',
    'fieldgate_feeds',
    'fieldgate_feed_rows_behind',
    'fieldgate_outbox_oldest_seconds',
    'fieldgate_map_bytes',
    'fieldgate_overlay_bytes',
    'fieldgate_profile_cache_bytes',
    'fieldgate_models_quarantined',
    'fieldgate_http_connections',
    'fieldgate_triggers',
    'fieldgate_change_streams',
    'fieldgate_retention_rows_total',
    'fieldgate_retention_waiting_rows',
  ])
    t.ok(families.has(name), name)
  const calls = (method: string, outcome: string) => sample('fieldgate_calls_total', { method, outcome })
  t.equal(calls('session.open_session', 'ok'), 1)
  t.equal(calls('session.open_session', 'INVALID_PARAMS'), 1)
  t.equal(calls('unknown', 'METHOD_NOT_FOUND'), 20, 'made up names share one label')
  t.equal(sample('fieldgate_sign_in_failures_total', {}), 1)
  t.equal(sample('fieldgate_http_responses_total', { status: '401' }), 1)
  t.equal(sample('fieldgate_call_duration_seconds_count', { method: 'session.open_session' }), 2)
  t.ok((sample('fieldgate_wal_bytes', { database: 'state' }) ?? 0) > 0)
  t.ok((sample('process_resident_memory_bytes', {}) ?? 0) > 1e7)
})

t.test('metrics: needs a key of any scope, unless server.openTo lists it', async (t) => {
  const { url, makeKey } = await startGateway(t)
  t.equal((await fetch(`${url}/metrics`)).status, 401)
  const { apiKey, secret } = await makeKey(['map:read'])
  const Authorization = `Basic ${Buffer.from(`${apiKey}:${secret}`).toString('base64')}`
  t.equal((await fetch(`${url}/metrics`, { headers: { Authorization } })).status, 200)
  t.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 405)
  const open = await startGateway(t, { settings: { server: { openTo: ['/metrics'] } } })
  t.equal((await fetch(`${open.url}/metrics`)).status, 200)
})

t.test('metrics: items of a batch, notifications, uploads and streams are counted', async (t) => {
  const { url, admin } = await startGateway(t)
  const headers = pairHeaders(admin)
  const item = { jsonrpc: '2.0', method: 'session.verify_session_token', params: { token: 'x' } }
  await post(url + SESSION, JSON.stringify([{ ...item, id: 1 }, item, 7]), headers)
  const upload = `${url}/api/v2/model_store/jsonrpc/upload/model_store.model.put`
  await fetch(upload, { method: 'POST', headers, body: new FormData() })
  await fetch(`${url}/api/v1/dataloaderapi/stream/nothing`, { method: 'POST', headers })
  const page = await fetch(`${url}/metrics`, { headers })
  const { sample } = readExposition(await page.text())
  const calls = (method: string, outcome: string) => sample('fieldgate_calls_total', { method, outcome })
  t.equal(calls('session.verify_session_token', 'ok'), 2)
  t.equal(calls('model_store.model.put', 'HTTP_400'), 1)
  t.equal(calls('dataloader stream', 'HTTP_404'), 1)
})

t.test('metrics: label values are escaped, families without a sample stay out', async (t) => {
  const metrics = createMetrics(async () => [
    {
      name: 'x_bytes',
      help: 'a\nb\\',
      type: 'gauge',
      samples: [{ labels: { map: 'a"b\\c\nd' }, value: 1.5 }],
    },
    { name: 'none_total', help: 'nothing', type: 'counter', samples: [] },
  ])
  const { sample } = readExposition(await metrics.page())
  t.equal(sample('x_bytes', { map: 'a"b\\c\nd' }), 1.5)
})

t.test('metrics: readers at the same time share one look', async (t) => {
  let looks = 0
  const metrics = createMetrics(async () => {
    looks++
    await new Promise((resolve) => setImmediate(resolve))
    return []
  })
  await Promise.all([metrics.page(), metrics.page(), metrics.page()])
  t.equal(looks, 1)
  await metrics.page()
  t.equal(looks, 2)
})
