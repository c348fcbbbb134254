// mapserv.eventdata on a million rows: areas about 1 km across, over HTTP, beside a bare R*Tree in this
// process.
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import Database from 'better-sqlite3'
import { cpuS } from '../proc.mjs'
import { createRandom } from '../random.mjs'
import { startGateway } from './gateway.mjs'
import { post, spread } from './load.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const QUERIES = 400
const WARM_UP = 40
const RADIUS_M = 500
const CORNERS = 12
/** a degree square: half of the rows anywhere in it, half in 60 towns */
const [WEST, SOUTH] = [139, 35]
const TOWNS = 60
const TOWN_DEGREES = 0.03

export async function run() {
  const random = createRandom(20_250_101)
  const points = makePoints(random)
  const areas = Array.from({ length: QUERIES + WARM_UP }, () => makeArea(points, random))
  const gateway = await startGateway()
  const bare = openBare(points)
  try {
    await fillGateway(gateway, points)
    const agent = new http.Agent({ keepAlive: true })
    const cpuBeforeS = cpuS(gateway.pid)
    const ours = await measure(areas, (area) => askGateway(gateway, agent, area))
    const cpuEachMs = ((cpuS(gateway.pid) - cpuBeforeS) * 1000) / areas.length
    const theirs = await measure(areas, async (area) => bare.ask(area))
    agent.destroy()
    compare(ours.answers, theirs.answers)
    const rows = ours.answers.map((numbers) => numbers.length).sort((a, b) => a - b)
    console.log(
      `${ROWS} rows, ${QUERIES} areas of ${CORNERS} corners about ${RADIUS_M * 2} m across, ${rows[0]} to ${rows.at(-1)} rows each, median ${rows[rows.length >> 1]}`,
    )
    print('mapserv.eventdata, whole call over HTTP', ours)
    print('bare R*Tree, bound box, exact filter, JSON text', theirs)
    console.log(
      `p95 ${ours.p95Ms.toFixed(2)} ms, asked for: under 20 ms; every answer has the same rows as the bare one`,
    )
    // on a busy machine a call also waits for its turn: this is what it costs whatever else runs
    console.log(`gateway CPU ${cpuEachMs.toFixed(2)} ms a call, all threads`)
    console.log(`gateway RSS ${gateway.rssMb().toFixed(0)} MB, peak ${gateway.peakRssMb().toFixed(0)} MB`)
  } finally {
    bare.close()
    await gateway.stop()
  }
}

/** @returns spread of durations, and the row numbers of each answer */
async function measure(areas, ask) {
  const took = []
  const answers = []
  for (const [index, area] of areas.entries()) {
    const startedAt = performance.now()
    const text = await ask(area)
    if (index >= WARM_UP) {
      took.push(performance.now() - startedAt)
      answers.push(numbersOf(text))
    }
  }
  return { ...spread(took), answers }
}

function numbersOf(text) {
  return [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n)).sort((a, b) => a - b)
}

function compare(ours, theirs) {
  for (const [index, numbers] of ours.entries()) {
    if (numbers.join() !== theirs[index].join())
      throw new Error(`area ${index}: ${numbers.length} rows instead of ${theirs[index].length}`)
  }
}

function print(title, { p50Ms, p95Ms, maxMs }) {
  console.log(
    `${title.padEnd(48)} median ${p50Ms.toFixed(2)} ms  p95 ${p95Ms.toFixed(2)} ms  max ${maxMs.toFixed(2)} ms`,
  )
}

async function fillGateway(gateway, points) {
  const recordDef = { n: { udt_name: 'int4' }, name: { udt_name: 'varchar' }, value: { udt_name: 'float8' } }
  const params = { data_name: 'places', record_def: recordDef, unique_columns: ['n'] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'loaderwebapi.register_loader', params })
  await post({ ...target(gateway), path: '/api/v1/dataloaderapi/jsonrpc', body })
  const startedAt = performance.now()
  const answer = await stream(gateway, points)
  const { count } = JSON.parse(answer)
  if (count !== ROWS) throw new Error(`the stream stored ${answer.slice(0, 300)}`)
  const seconds = (performance.now() - startedAt) / 1000
  console.log(`loaded ${count} rows in ${seconds.toFixed(0)} s through the stream endpoint`)
}

function target({ port, headers }) {
  return { host: '127.0.0.1', port, headers }
}

/** Newline-delimited features, made while they are sent. */
function stream(gateway, points) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        ...target(gateway),
        path: '/api/v1/dataloaderapi/stream/places',
        method: 'POST',
        headers: { ...gateway.headers, 'Content-Type': 'application/x-ndjson' },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      },
    )
    request.on('error', reject)
    send(request, points).catch(reject)
  })
}

async function send(request, points) {
  const linesEach = 5000
  for (let from = 0; from < ROWS; from += linesEach) {
    let text = ''
    for (let n = from; n < Math.min(ROWS, from + linesEach); n++)
      text += `${JSON.stringify(featureOf(points, n))}\n`
    if (!request.write(text)) await new Promise((resolve) => request.once('drain', resolve))
  }
  request.end()
}

function featureOf(points, n) {
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [points[n * 2], points[n * 2 + 1]] },
    properties: {
      start_datetime: '2025-01-02 03:04:05+09',
      end_datetime: '2025-01-02 04:04:05+09',
      ...columnsOf(n),
    },
  }
}

function columnsOf(n) {
  return { n, name: `place ${n % 1000}`, value: n / 7 }
}

async function askGateway(gateway, agent, ring) {
  const properties = { table: 'event.places_tbl_0', columns: [] }
  const params = { type: 'Feature', geometry: { type: 'Polygon', coordinates: [ring] }, properties }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mapserv.eventdata', params })
  let answer = ''
  const status = await post({
    ...target(gateway),
    agent,
    path: '/api/v1/svcapi/jsonrpc',
    body,
    onBody: (text) => {
      answer = text
    },
  })
  if (status !== 200 || !answer.includes('"FeatureCollection"'))
    throw new Error(`${status} ${answer.slice(0, 300)}`)
  return answer
}

/**
 * Opens the baseline, a page of code with better-sqlite3: one R*Tree row a point, a join, and a test of each row in
 * JavaScript.
 */
function openBare(points) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  const db = new Database(path.join(dir, 'bare.db'))
  db.pragma('journal_mode = WAL')
  db.exec(`CREATE TABLE place (id INTEGER PRIMARY KEY, start_us INTEGER, end_us INTEGER, lng REAL, lat REAL, n INTEGER, name TEXT, value REAL) STRICT;
    CREATE VIRTUAL TABLE box USING rtree(id, west, east, south, north);`)
  const insert = db.prepare('INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const insertBox = db.prepare('INSERT INTO box VALUES (?, ?, ?, ?, ?)')
  db.transaction(() => {
    for (let n = 0; n < ROWS; n++) {
      const [lng, lat] = [points[n * 2], points[n * 2 + 1]]
      const { name, value } = columnsOf(n)
      insert.run(n + 1, 1735754645000000, 1735758245000000, lng, lat, n, name, value)
      insertBox.run(n + 1, lng, lng, lat, lat)
    }
  })()
  const select = db.prepare(
    `SELECT p.* FROM box JOIN place p USING (id) WHERE east >= ? AND west <= ? AND north >= ? AND south <= ?`,
  )
  return {
    ask(ring) {
      const [xs, ys] = [ring.map(([x]) => x), ring.map(([, y]) => y)]
      const rows = select.all(Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys))
      const features = rows.filter(({ lng, lat }) => isInside(ring, lng, lat)).map(bareFeature)
      return JSON.stringify({ type: 'FeatureCollection', features })
    },
    close() {
      db.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function bareFeature({ lng, lat, start_us, end_us, n, name, value }) {
  const properties = {
    table: 'places',
    start_datetime: isoOf(start_us),
    end_datetime: isoOf(end_us),
    n,
    name,
    value,
  }
  return { type: 'Feature', geometry: { type: 'Point', coordinates: [lng, lat] }, properties }
}

function isoOf(us) {
  return new Date(us / 1000).toISOString()
}

function isInside(ring, x, y) {
  let isIn = false
  for (let i = 1; i < ring.length; i++) {
    const [[ax, ay], [bx, by]] = [ring[i - 1], ring[i]]
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isIn = !isIn
  }
  return isIn
}

function makePoints(random) {
  const towns = Array.from({ length: TOWNS }, () => [WEST + random(), SOUTH + random()])
  const points = new Float64Array(ROWS * 2)
  for (let n = 0; n < ROWS; n++) {
    const [x, y] = n % 2 === 0 ? [WEST + random(), SOUTH + random()] : near(towns[n % TOWNS], random)
    points[n * 2] = Math.round(x * 1e7) / 1e7
    points[n * 2 + 1] = Math.round(y * 1e7) / 1e7
  }
  return points
}

function near([x, y], random) {
  const radius = TOWN_DEGREES * Math.sqrt(random())
  const angle = 2 * Math.PI * random()
  return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]
}

/** A crooked ring around one of the rows, so that areas lie where rows do. */
function makeArea(points, random) {
  const at = Math.floor(random() * ROWS)
  const [x, y] = [points[at * 2], points[at * 2 + 1]]
  const degreesLat = RADIUS_M / 111_000
  const degreesLng = degreesLat / Math.cos((y * Math.PI) / 180)
  const ring = Array.from({ length: CORNERS }, (_, corner) => {
    const angle = (2 * Math.PI * corner) / CORNERS
    const share = 0.7 + 0.3 * random()
    return [x + degreesLng * share * Math.cos(angle), y + degreesLat * share * Math.sin(angle)]
  })
  return [...ring, ring[0]]
}
