// What an SD card has to bear: bytes that the kernel wrote for the gateway (/proc/PID/io) for each byte of a
// body that was acknowledged, API by API, one call after another. Beside it the same rows in one SQLite file
// with a commit each, which is the least that a durable commit costs. Needs a disk: a tmpfs counts nothing.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { writtenBytes } from '../proc.mjs'
import { openBareSqlite } from './bare-sqlite.mjs'
import { startGateway } from './gateway.mjs'
import { rpc } from './traffic.mjs'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const SESSION = '/api/v1/session/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const MODELS = '/api/v2/model_store/jsonrpc'

export async function run() {
  const gateway = await startGateway()
  try {
    await prepare(gateway)
    // one record at a time first: the logs that large loads leave behind are moved into the files later, at
    // somebody's cost
    const rows = [
      ['sign-in by key', 500, () => call(gateway, SESSION, 'session.verify_session_token', { token: 'x' })],
      ['session.open_session', 400, () => call(gateway, SESSION, 'session.open_session', {})],
      ['add_record, 1 record a call', 400, (i) => add(gateway, i, 1)],
      ['dataset.record.put, 1 record', 400, (i) => put(gateway, i, 1)],
      ['a minute of rest after that', 1, () => sleep(65_000, 0)],
      ['model put, 64 KiB', 30, (i) => model(gateway, i, 64 * 1024)],
      ['add_record, 100 records a call', 50, (i) => add(gateway, 1000 + i * 100, 100)],
      ['dataset.record.put, 1,000 records', 10, (i) => put(gateway, 1000 + i * 1000, 1000)],
      ['add_record, 5,000 records a call', 4, (i) => add(gateway, 10_000 + i * 5000, 5000)],
      ['the same again, override', 4, (i) => add(gateway, 10_000 + i * 5000, 5000)],
      ['stream, 20,000 lines', 1, () => stream(gateway, 100_000, 20_000)],
      ['model put, 8 MiB', 3, (i) => model(gateway, 1000 + i, 8 * 1024 * 1024)],
    ]
    console.log(
      `${'what'.padEnd(36)} ${'acknowledged'.padStart(13)} ${'written'.padStart(13)}  a call  a byte`,
    )
    for (const [title, times, work] of rows) print(title, times, await measure(gateway.pid, times, work))
    baseline()
  } finally {
    await gateway.stop()
  }
}

async function measure(pid, times, work) {
  await settle(pid)
  const before = writtenBytes(pid)
  let bytes = 0
  for (let i = 0; i < times; i++) bytes += await work(i)
  await settle(pid)
  return { bytes, written: writtenBytes(pid) - before }
}

/** A worker thread may write on after the answer. */
async function settle(pid) {
  for (let last = -1, now = writtenBytes(pid); now !== last; now = writtenBytes(pid)) {
    last = now
    await sleep(500)
  }
}

function print(title, times, { bytes, written }) {
  const perByte = bytes === 0 ? '-' : (written / bytes).toFixed(1)
  console.log(
    `${title.padEnd(36)} ${String(bytes).padStart(13)} ${String(written).padStart(13)} ${(written / times / 1024).toFixed(1).padStart(7)} kB ${perByte.padStart(6)}`,
  )
}

async function prepare(gateway) {
  const record_def = { gauge: { udt_name: 'int4' }, mm: { udt_name: 'float8' }, note: { udt_name: 'text' } }
  await rpc(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'wear',
    record_def,
    unique_columns: ['gauge'],
  })
  const columns = [
    { column_name: 'id', data_type: 'bigint' },
    { column_name: 'mm', data_type: 'double precision' },
    { column_name: 'note', data_type: 'text' },
  ]
  await rpc(gateway, DATASET, 'dataset.create', { dataset_name: 'wear', columns, key_columns: ['id'] })
}

/** @returns bytes of the body */
async function call(gateway, api, method, params) {
  await rpc(gateway, api, method, params)
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }).length
}

function add(gateway, from, count) {
  const record_set = Array.from({ length: count }, (_, i) => feature(from + i))
  return call(gateway, LOADER, 'loaderwebapi.add_record', {
    data_name: 'wear',
    options: { if_exists: 'override' },
    record_set,
  })
}

async function stream(gateway, from, count) {
  const body = Array.from({ length: count }, (_, i) => JSON.stringify(feature(from + i))).join('\n')
  const headers = { ...gateway.headers, 'Content-Type': 'application/x-ndjson' }
  const response = await fetch(`${gateway.url}/api/v1/dataloaderapi/stream/wear`, {
    method: 'POST',
    headers,
    body,
  })
  if (!response.ok) throw new Error(await response.text())
  return body.length
}

function put(gateway, from, count) {
  const records = Array.from({ length: count }, (_, i) => [from + i, i / 7, 'a gauge by the road'])
  return call(gateway, DATASET, 'dataset.record.put', { dataset_name: 'wear', records })
}

async function model(gateway, seed, sizeBytes) {
  const form = new FormData()
  const data = { model_store_ddc: 'wear', model_kind: 'k', model_description: '', model_meta: {} }
  form.set('data', JSON.stringify(data))
  form.set('file', new Blob([noise(seed, sizeBytes)]), 'm')
  const { 'Content-Type': _, ...headers } = gateway.headers
  const response = await fetch(`${gateway.url}${MODELS}/upload/model_store.model.put`, {
    method: 'POST',
    headers,
    body: form,
  })
  if (!response.ok) throw new Error(await response.text())
  return sizeBytes
}

function noise(seed, sizeBytes) {
  const block = createHash('sha256').update(String(seed)).digest()
  return Buffer.alloc(sizeBytes, block)
}

function feature(gauge) {
  const properties = {
    start_datetime: '2026-01-01 00:00:00Z',
    end_datetime: '2026-01-01 01:00:00Z',
    gauge,
    mm: gauge / 7,
    note: 'a gauge by the road',
  }
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139 + (gauge % 1000) / 1000, 35 + (gauge % 777) / 777] },
    properties,
  }
}

/** The floor: one row and one commit in a bare SQLite file with the same settings. */
function baseline() {
  const bare = openBareSqlite()
  const before = writtenBytes('self')
  let bytes = 0
  for (let i = 0; i < 200; i++) {
    const body = JSON.stringify(feature(i))
    bare.insert(body)
    bytes += body.length
  }
  print('bare SQLite, one row a commit', 200, { bytes, written: writtenBytes('self') - before })
  bare.close()
}
