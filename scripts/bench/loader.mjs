// The data loader: a million points through the stream endpoint beside bare inserts into the same table, and
// one large add_record while others call.
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { startGateway } from './gateway.mjs'
import { post, spread } from './load.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const BATCH = 5000
const SENSORS = 10_000
const CALL_BYTES = 99_000_000
const CALLS_PER_S = 20
const ASKED = { share: 0.35, growthMb: 120, p99Ms: 150, rssMb: 700 }
export const LOADER = '/api/v1/dataloaderapi/jsonrpc'

const RECORD_DEF = {
  sensor: { udt_name: 'varchar', length: 20 },
  value: { udt_name: 'float8' },
}

export async function run() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  try {
    const lines = path.join(dir, 'points.ndjson')
    await writeFile(lines, streamPieces())
    await benchStream(dir, lines)
    const call = path.join(dir, 'call.json')
    await writeFile(call, callPieces())
    await benchCall(call)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function benchStream(dir, lines) {
  const gateway = await startGateway()
  try {
    await register(gateway, 'readings', ['sensor', 'start_datetime'])
    const bareBefore = bareInsert(gateway, dir)
    const rssBefore = gateway.rssMb()
    const watch = watchRss(gateway)
    const startedAt = performance.now()
    const counters = await sendFile(gateway, '/api/v1/dataloaderapi/stream/readings', lines)
    const seconds = (performance.now() - startedAt) / 1000
    const growthMb = (await watch.stop()) - rssBefore
    if (counters.count_insert !== ROWS) throw new Error(`stored ${JSON.stringify(counters)}`)
    const bareAfter = bareInsert(gateway, dir)
    const bare = (bareBefore + bareAfter) / 2
    const rate = ROWS / seconds
    console.log(
      `stream of ${ROWS} points, ${mb(lines)} MB: ${rate.toFixed(0)} rows/s in ${seconds.toFixed(1)} s, RSS ${rssBefore.toFixed(0)} MB, growth ${growthMb.toFixed(0)} MB`,
    )
    console.log(
      `bare prepared insert, same table and unique index, no spatial index: ${bareBefore.toFixed(0)} rows/s before, ${bareAfter.toFixed(0)} after`,
    )
    verdict('stream / bare', rate / bare, '>=', ASKED.share)
    verdict('RSS growth, MB', growthMb, '<', ASKED.growthMb)
  } finally {
    await gateway.stop()
  }
}

/**
 * The gateway's own table in another file, filled with a kept statement: what nothing can beat. Rows a
 * second.
 */
function bareInsert(gateway, dir) {
  const source = new Database(path.join(gateway.dataDir, 'data.db'), { readonly: true })
  const ddl = source
    .prepare(
      "SELECT sql FROM sqlite_schema WHERE name IN ('readings_tbl_0', 'readings_tbl_0_key') ORDER BY type DESC",
    )
    .pluck()
    .all()
  source.close()
  const file = path.join(dir, 'bare.db')
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  for (const sql of ddl) db.exec(sql)
  const insert = db.prepare(
    'INSERT INTO readings_tbl_0 (start_datetime, end_datetime, location, sensor, value) VALUES (?, ?, ?, ?, ?)',
  )
  const write = db.transaction((rows) => {
    for (const row of rows) insert.run(row)
  })
  let ms = 0
  for (let from = 0; from < ROWS; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, ROWS - from) }, (_, at) => bareRow(from + at))
    const startedAt = performance.now()
    write.immediate(rows)
    ms += performance.now() - startedAt
  }
  db.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
  return ROWS / (ms / 1000)
}

function bareRow(n) {
  const { lng, lat, sensor, value, time } = pointOf(n)
  const us = BigInt(Date.parse(time)) * 1000n
  const wkb = Buffer.allocUnsafe(21)
  wkb[0] = 1
  wkb.writeUInt32LE(1, 1)
  wkb.writeDoubleLE(lng, 5)
  wkb.writeDoubleLE(lat, 13)
  return [us, us, wkb, sensor, value]
}

async function benchCall(file) {
  const gateway = await startGateway()
  try {
    await register(gateway, 'readings', ['sensor', 'start_datetime'])
    await register(gateway, 'areas', ['n'], { n: { udt_name: 'int4' }, name: { udt_name: 'varchar' } })
    await rpc(gateway, LOADER, 'loaderwebapi.add_record', {
      data_name: 'readings',
      record_set: Array.from({ length: 1000 }, (_, n) => featureOf(n)),
    })
    const watch = watchRss(gateway)
    const others = callOthers(gateway)
    await sleep(1000)
    const startedAt = performance.now()
    const { result, error } = await sendFile(gateway, LOADER, file)
    const seconds = (performance.now() - startedAt) / 1000
    if (error !== undefined) throw new Error(JSON.stringify(error).slice(0, 500))
    const took = await others.stop()
    const rssMb = await watch.stop()
    const { p50Ms, p95Ms, p99Ms, maxMs } = spread(took.ms)
    console.log(
      `add_record of ${mb(file)} MB, ${result.count} polygons, in ${seconds.toFixed(1)} s, while ${CALLS_PER_S} other calls/s ran (${took.ms.length} calls, ${took.failures} failures)`,
    )
    console.log(
      `the others: p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms`,
    )
    verdict('p99 of the others, ms', p99Ms, '<', ASKED.p99Ms)
    verdict('peak RSS, MB', rssMb, '<', ASKED.rssMb)
  } finally {
    await gateway.stop()
  }
}

/**
 * Calls that others make meanwhile: sessions (which are written), lists, event data. Each is sent on the
 * beat.
 */
function callOthers(gateway) {
  const agent = new http.Agent({ keepAlive: true })
  const ms = []
  const running = new Set()
  let failures = 0
  let sent = 0
  const area = { type: 'Point', coordinates: [pointOf(7).lng, pointOf(7).lat] }
  const kinds = [
    ['/api/v1/session/jsonrpc', 'session.open_session', {}],
    ['/api/v1/session/jsonrpc', 'session.verify_session_token', { token: 'x' }],
    [LOADER, 'loaderwebapi.get_loader_list', {}],
    [
      '/api/v1/svcapi/jsonrpc',
      'mapserv.eventdata',
      { type: 'Feature', geometry: area, properties: { table: 'readings', columns: [] } },
    ],
  ]
  const send = async ([callPath, method, params]) => {
    const startedAt = performance.now()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const status = await post({
      agent,
      host: '127.0.0.1',
      port: gateway.port,
      path: callPath,
      headers: gateway.headers,
      body,
    })
    ms.push(performance.now() - startedAt)
    if (status !== 200) failures++
  }
  const timer = setInterval(() => {
    const call = send(kinds[sent++ % kinds.length]).catch(() => failures++)
    running.add(call)
    call.finally(() => running.delete(call))
  }, 1000 / CALLS_PER_S)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(running)
      agent.destroy()
      return { ms, failures }
    },
  }
}

/** Peak resident memory from now on, MB. */
export function watchRss(gateway) {
  let peak = gateway.rssMb()
  const timer = setInterval(() => {
    peak = Math.max(peak, gateway.rssMb())
  }, 50)
  return {
    async stop() {
      clearInterval(timer)
      return Math.max(peak, gateway.rssMb())
    },
  }
}

/** Sends a file as the body and reads the JSON answer. */
export function sendFile(gateway, to, file) {
  return new Promise((resolve, reject) => {
    const isStream = to.includes('/stream/')
    const headers = {
      ...gateway.headers,
      'Content-Type': isStream ? 'application/x-ndjson' : 'application/json',
      ...(isStream ? {} : { 'Content-Length': statSync(file).size }),
    }
    const request = http.request(
      { agent: false, host: '127.0.0.1', port: gateway.port, path: to, method: 'POST', headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(JSON.parse(text)))
      },
    )
    request.on('error', reject)
    createReadStream(file, { highWaterMark: 256 * 1024 }).pipe(request)
  })
}

export async function register(gateway, name, uniqueColumns, recordDef = RECORD_DEF) {
  await rpc(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: name,
    record_def: recordDef,
    unique_columns: uniqueColumns,
  })
}

export async function rpc(gateway, callPath, method, params) {
  let answer = ''
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const onBody = (text) => {
    answer = text
  }
  const { port, headers } = gateway
  // no kept connection: the gateway may have closed it while this process was busy
  await post({ agent: false, host: '127.0.0.1', port, path: callPath, headers, body, onBody })
  const { result, error } = JSON.parse(answer)
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error).slice(0, 500)}`)
  return result
}

/** The n-th reading: every sensor once a minute, in an order of its own; anywhere in a degree square. */
function pointOf(n) {
  const sensor = Math.imul(n % SENSORS, 7919) % SENSORS
  return {
    lng: 139 + mixed(n * 2) / 1e6,
    lat: 35 + mixed(n * 2 + 1) / 1e6,
    sensor: `sensor-${sensor}`,
    value: mixed(n * 3 + 7) / 1e4,
    time: new Date(1_735_700_000_000 + Math.floor(n / SENSORS) * 60_000).toISOString(),
  }
}

/** 0 to 999,999, the same in every run. */
function mixed(n) {
  let x = Math.imul(n + 0x9e3779b9, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return ((x ^ (x >>> 16)) >>> 0) % 1_000_000
}

function featureOf(n) {
  const { lng, lat, sensor, value, time } = pointOf(n)
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [lng, lat] },
    properties: { start_datetime: time, end_datetime: time, sensor, value },
  }
}

export function* streamPieces(rows = ROWS) {
  for (let from = 0; from < rows; from += BATCH) {
    let text = ''
    for (let n = from; n < Math.min(rows, from + BATCH); n++) text += `${JSON.stringify(featureOf(n))}\n`
    yield text
  }
}

/** One add_record of `CALL_BYTES`; record_set stands before what says where it goes. */
function* callPieces() {
  const tail = '],"data_name":"areas"},"id":1,"method":"loaderwebapi.add_record","jsonrpc":"2.0"}'
  yield '{"params":{"record_set":['
  let bytes = 100
  for (let n = 0; bytes < CALL_BYTES; ) {
    let text = ''
    for (let count = 0; count < 1000 && bytes + text.length < CALL_BYTES; count++, n++)
      text += `${n === 0 ? '' : ','}${JSON.stringify(polygonOf(n))}`
    bytes += text.length
    yield text
  }
  yield tail
}

function polygonOf(n) {
  const { lng, lat } = pointOf(n)
  const ring = [0, 1, 2, 3, 4, 5, 0].map((corner) => [
    Number((lng + 0.001 * Math.cos(corner)).toFixed(6)),
    Number((lat + 0.001 * Math.sin(corner)).toFixed(6)),
  ])
  const times = { start_datetime: '2025-01-02 03:04:05+09', end_datetime: '2025-01-02 04:04:05+09' }
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { ...times, n, name: `area ${n} of a large call` },
  }
}

export async function writeFile(file, pieces) {
  const handle = await open(file, 'w')
  for (const piece of pieces) await handle.write(piece)
  await handle.close()
}

function mb(file) {
  return (statSync(file).size / 1e6).toFixed(0)
}

export function verdict(title, value, sign, limit) {
  const isMet = sign === '<' ? value < limit : value >= limit
  console.log(`${isMet ? 'met   ' : 'MISSED'} ${title} ${value.toFixed(2)}, asked for ${sign} ${limit}`)
}
