// Something of everything that the console shows: tables, a risk map, datasets with citations, models, transfers that
// are delivered and refused, feeds, modules with triggers, and a hub with gateways.
import { cpSync } from 'node:fs'
import path from 'node:path'
import { createRandom } from '../../random.mjs'

const SEED = 20_261_128
const RECORDS = 600
const DAY_MS = 86_400_000
/** Rows of a table that is longer than the pages of a grid. */
const LONG_ROWS = 2_500

/** Environment of gateways on this machine that may send to each other. */
export const NEIGHBOURS = {
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
  FIELDGATE_FLEET__REPORT_S: '1',
  FIELDGATE_SYNC__BATCH_WAIT_S: '0.1',
  FIELDGATE_LOG__LEVEL: 'error', // refused transfers are wanted here
}

/** Function that calls methods of a gateway with its admin key. @throws Error for an error answer */
export async function callerOf({ url, headers }) {
  const { methods } = await (await fetch(`${url}/openrpc.json`, { headers })).json()
  const paths = new Map(methods.map((method) => [method.name, method['x-path']]))
  return async (method, params = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(`${url}${paths.get(method)}`, { method: 'POST', headers, body })
    const { error, result } = await response.json()
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
}

/**
 * Fills a gateway, and a hub that it sends to.
 *
 * @param centre lng, lat of the place that the records are around
 */
export async function fillGateways(edge, hub, centre) {
  const call = await callerOf(edge)
  const there = await callerOf(hub)
  cpSync('scripts/modules', path.join(edge.dataDir, 'modules'), { recursive: true })
  await addTables(call, centre)
  await addDatasets(call)
  await addModels(edge, hub, call)
  await addFeeds(call, there, hub)
  await addTriggers(call)
  await addFleet(hub, call, there)
}

async function addTables(call, [lng, lat]) {
  const random = createRandom(SEED)
  const now = Date.now()
  const at = (ms) => new Date(ms).toISOString()
  const near = () => [lng + (random() - 0.5) * 0.06, lat + (random() - 0.5) * 0.04]
  await call('loaderwebapi.register_loader', {
    data_name: 'incidents',
    record_def: {
      id: { udt_name: 'int4' },
      kind: { udt_name: 'text', is_nullable: true },
      severity: { udt_name: 'float8', is_nullable: true },
      note: { udt_name: 'text', is_nullable: true },
      seen_by: { udt_name: 'text', is_nullable: true },
    },
    unique_columns: ['id'],
  })
  const KINDS = ['flooded road', 'fallen tree', 'landslide', 'power cut', '通行止め']
  const NOTE = 'Water over the kerb on both sides; the crew returns when the tide has turned'
  await put(call, 'incidents', RECORDS, (id) => ({
    geometry: { type: 'Point', coordinates: id === 0 ? [lng, lat] : near() },
    properties: {
      start_datetime: at(now - random() * 60 * DAY_MS),
      ...{ id, kind: KINDS[id % KINDS.length], severity: Math.round(random() * 100) / 10 },
      ...{ note: id % 7 === 0 ? NOTE : null, seen_by: id % 3 === 0 ? `crew-${id % 9}` : null },
    },
  }))
  await call('loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { gauge: { udt_name: 'int4' }, mm: { udt_name: 'float8', is_nullable: true } },
    unique_columns: ['gauge', 'start_datetime'],
  })
  await put(call, 'rain', LONG_ROWS, (n) => ({
    geometry: { type: 'Point', coordinates: [lng + ((n % 20) - 10) / 400, lat + ((n % 13) - 6) / 400] },
    properties: {
      ...{ start_datetime: at(now - (n + 1) * 600_000), end_datetime: at(now - n * 600_000) },
      ...{ gauge: n % 20, mm: Math.round(random() * 300) / 10 },
    },
  }))
  await call('loaderwebapi.register_loader', {
    data_name: 'river',
    record_def: { cell: { udt_name: 'int4' }, risk: { udt_name: 'int2' } },
    unique_columns: ['cell', 'start_datetime'],
  })
  const cells = Array.from({ length: 48 }, (_, cell) => ({ cell, hours: cell % 3 }))
  await put(call, 'river', cells.length, (n) => {
    const [west, south] = [lng - 0.024 + (n % 16) * 0.003, lat - 0.006 + Math.floor(n / 16) * 0.003]
    const ring = [
      [west, south],
      [west + 0.003, south],
      [west + 0.003, south + 0.003],
      [west, south + 0.003],
      [west, south],
    ]
    return {
      geometry: { type: 'Polygon', coordinates: [ring] },
      properties: {
        ...{ start_datetime: at(now - 3 * DAY_MS), end_datetime: at(now + 2 * DAY_MS) },
        ...{ cell: n, risk: 2 + ((n * 7) % 9) },
      },
    }
  })
  await call('loaderwebapi.register_loader', {
    data_name: 'rain_risk',
    record_def: { cell: { udt_name: 'text' }, mm: { udt_name: 'float8' }, risk: { udt_name: 'int4' } },
    unique_columns: ['cell', 'start_datetime'],
  })
  for (let n = 0; n < 30; n++)
    await call('loaderwebapi.register_loader', {
      data_name: `sensor_${String(n).padStart(2, '0')}`,
      record_def: { id: { udt_name: 'int4' } },
      unique_columns: ['id'],
    })
}

/** Adds features by parts of a request's size. */
async function put(call, name, count, featureOf) {
  for (let from = 0; from < count; from += 500) {
    const record_set = Array.from({ length: Math.min(500, count - from) }, (_, n) => ({
      type: 'Feature',
      ...featureOf(from + n),
    }))
    await call('loaderwebapi.add_record', {
      data_name: name,
      record_set,
      options: { if_exists: 'override' },
    })
  }
}

async function addDatasets(call) {
  await call('dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'place', data_type: 'text' },
      { column_name: 'level', data_type: 'double precision' },
    ],
    key_columns: ['id'],
  })
  const rows = (by) => Array.from({ length: 40 }, (_, n) => [n + 1, `Bridge ${n + 1}`, n * 0.25 + by])
  const dataset_name = 'gauges'
  await call('dataset.record.put', { dataset_name, records: rows(0), on_conflict: 'error' })
  await call('dataset.citation.create', { citation_label: 'spring-report', source: 'gauges' })
  await call('dataset.record.put', { dataset_name, records: rows(1).slice(0, 9), on_conflict: 'update' })
  await call('dataset.citation.create', { citation_label: 'summer-report', source: 'gauges' })
}

async function addModels(edge, hub, call) {
  await upload(edge, 'early', 'before-upstream.bin', 30_000)
  const target = (name, secret) => ({
    model_store_ddc: name,
    upstream_endpoint: `${hub.url}/api/v2/fl/jsonrpc`,
    upstream_apikey: hub.headers.APIKey,
    upstream_secret: secret,
    upstream_model_store_ddc: name,
    create: true,
  })
  await call('fl.create_upstream_info', { ...target('rain-forecast', hub.headers.Secret), alias: 'office' })
  await call('fl.create_upstream_info', { ...target('landslides', 'not-the-secret'), alias: 'depot' })
  const first = await upload(edge, 'rain-forecast', 'weights-round-1.safetensors', 120_000)
  await upload(edge, 'rain-forecast', 'weights-round-2.safetensors', 240_000)
  await upload(edge, 'landslides', 'slopes-of-the-north-with-a-rather-long-name.onnx', 90_000)
  await upload(edge, 'rain-forecast', 'average.safetensors', 120_000, 'model_store.model.put_aggregated')
  return first
}

async function upload({ url, headers }, store, name, bytes, method = 'model_store.model.put') {
  const form = new FormData()
  const model_meta = { file_name: name, samples: 128 }
  const data = {
    model_store_ddc: store,
    model_kind: 'weights',
    model_description: 'Trained here',
    model_meta,
  }
  form.set('data', JSON.stringify(data))
  form.set('file', new Blob([Buffer.alloc(bytes, name)]), name)
  const { APIKey, Secret } = headers
  if (method === 'model_store.model.put') await newStore({ url, headers }, store)
  const path = `${url}/api/v2/model_store/jsonrpc/upload/${method}`
  const response = await fetch(path, { method: 'POST', headers: { APIKey, Secret }, body: form })
  if (!response.ok) throw new Error(await response.text())
  return await response.json()
}

/** Makes a model store unless it exists. */
async function newStore(gateway, store) {
  const call = await callerOf(gateway)
  const stores = await call('model_store.list')
  if (!stores.some(({ model_store_ddc }) => model_store_ddc === store))
    await call('model_store.create', { model_store_ddc: store })
}

async function addFeeds(call, there, hub) {
  const key = { endpoint: hub.url, apikey: hub.headers.APIKey, secret: hub.headers.Secret }
  await call('sync.create_upstream', { name: 'office', ...key })
  await call('sync.create_upstream', { name: 'depot', ...key, secret: 'not-the-secret' })
  // the table differs there, so that one feed stops with its reason
  await there('loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { gauge: { udt_name: 'text' } },
    unique_columns: ['gauge'],
  })
  await call('sync.create_feed', { table: 'incidents', upstream: 'office', from: 'all' })
  await call('sync.create_feed', { table: 'rain', upstream: 'office', from: 'all' })
  await call('sync.create_feed', { table: 'river', upstream: 'depot', from: 'all' })
}

async function addTriggers(call) {
  const job = {
    module: 'rain-risk',
    method: 'make',
    input: { rain: { data_ddc: 'rain' } },
    output: { risk: { data_ddc: 'rain_risk' } },
  }
  await call('dataproc.create_trigger', {
    name: 'hourly-risk',
    ...job,
    on: { schedule: '0 * * * *', time_zone: 'Asia/Tokyo' },
  })
  await call('dataproc.create_trigger', { name: 'on-rain', ...job, on: { table: 'rain' }, enabled: false })
  await call('dataproc.run_trigger', { name: 'hourly-risk' })
}

async function addFleet(hub, call, there) {
  await there('fleet.set_profile', { name: 'field', profile: { up: [{ table: 'incidents' }] } })
  const { text } = await there('fleet.create_token', { profile: 'field' })
  await call('fleet.join_hub', { hub: hub.url, token: text, name: 'van-7' })
}
