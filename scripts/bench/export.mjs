// A loader table of a million points as a file over HTTP, beside GDAL's ogr2ogr, which copies the GeoPackage
// that was just exported. Neither file has a spatial index where they are compared: exported ones have none.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import Database from 'better-sqlite3'
import { cpuS, endedCpuS } from '../proc.mjs'
import { startGateway } from './gateway.mjs'
import { register, sendFile, verdict, watchRss, writeFile } from './loader.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const BATCH = 5000
const RUNS = 2
const ASKED_SHARE = 0.7
const TABLE = 'exported'
const RECORD_DEF = {
  sensor: { udt_name: 'int8' },
  value: { udt_name: 'float8' },
  note: { udt_name: 'varchar', length: 20 },
}
/** A busy machine may need more than the 30 s that an export may take by default. */
const PATIENT = { FIELDGATE_READS__TIME_LIMIT_MS: '600000' }

export async function run() {
  if (spawnSync('ogr2ogr', ['--version']).error !== undefined) {
    console.log("skipped: ogr2ogr does not exist (GDAL's programs, package gdal-bin on Debian)")
    return
  }
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  try {
    const gateway = await startGateway({ env: PATIENT })
    try {
      await fill(gateway, path.join(dir, 'points.ndjson'))
      await compare(gateway, dir)
      for (const format of ['csv', 'geojson'])
        print(format, await download(gateway, format, path.join(dir, `a.${format}`)))
    } finally {
      await gateway.stop()
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function fill(gateway, lines) {
  await register(gateway, TABLE, ['sensor', 'start_datetime'], RECORD_DEF)
  await writeFile(lines, linesOf())
  const counters = await sendFile(gateway, `/api/v1/dataloaderapi/stream/${TABLE}`, lines)
  if (counters.count_insert !== ROWS) throw new Error(`stored ${JSON.stringify(counters)}`)
  rmSync(lines)
}

async function compare(gateway, dir) {
  const exported = path.join(dir, 'exported.gpkg')
  const copy = path.join(dir, 'copy.gpkg')
  const ours = []
  const theirs = []
  for (let i = 0; i < RUNS; i++) {
    ours.push(await download(gateway, 'gpkg', exported))
    print('gpkg', ours.at(-1))
    theirs.push(await ogr2ogr(exported, copy, ['-lco', 'SPATIAL_INDEX=NO']))
    print('ogr2ogr, SPATIAL_INDEX=NO', theirs.at(-1))
  }
  const files = [
    ['exported', exported],
    ['copied', copy],
  ]
  for (const [title, file] of files)
    console.log(`${title}: ${featuresOf(file)} features by ogrinfo, spatial index: ${hasIndex(file)}`)
  print('ogr2ogr with its spatial index', await ogr2ogr(exported, copy, []))
  verdict(
    'gpkg / ogr2ogr, rows/s by the clock',
    least(theirs, 'seconds') / least(ours, 'seconds'),
    '>=',
    ASKED_SHARE,
  )
  // whatever else the machine does
  const cpu = least(theirs, 'cpuS') / least(ours, 'cpuS')
  console.log(`       gpkg / ogr2ogr, rows a second of processor time ${cpu.toFixed(2)}`)
}

/** @returns { seconds, cpuS, growthMb, bytes }; processor time of the gateway, whose memory is watched */
async function download(gateway, format, to) {
  const rssBeforeMb = gateway.rssMb()
  const watch = watchRss(gateway)
  const cpuBeforeS = cpuS(gateway.pid)
  const startedAt = performance.now()
  const request = http.get({
    agent: false,
    host: '127.0.0.1',
    port: gateway.port,
    path: `/api/v1/dataloaderapi/export/${TABLE}?format=${format}`,
    headers: { APIKey: gateway.headers.APIKey, Secret: gateway.headers.Secret },
  })
  const [response] = await once(request, 'response')
  if (response.statusCode !== 200)
    throw new Error(`${format}: found ${response.statusCode} ${(await response.toArray()).join('')}`)
  await pipeline(response, createWriteStream(to))
  const seconds = (performance.now() - startedAt) / 1000
  const growthMb = (await watch.stop()) - rssBeforeMb
  return { seconds, cpuS: cpuS(gateway.pid) - cpuBeforeS, growthMb, bytes: statSync(to).size }
}

/** @returns { seconds, cpuS, bytes } */
async function ogr2ogr(from, to, options) {
  rmSync(to, { force: true })
  const cpuBeforeS = endedCpuS('self')
  const startedAt = performance.now()
  const child = spawn('ogr2ogr', ['-f', 'GPKG', to, from, TABLE, ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`ogr2ogr ended with ${code}`)
  const seconds = (performance.now() - startedAt) / 1000
  return { seconds, cpuS: endedCpuS('self') - cpuBeforeS, bytes: statSync(to).size }
}

function featuresOf(file) {
  const text = execFileSync('ogrinfo', ['-ro', '-so', file, TABLE], { encoding: 'utf8' })
  const count = Number(/^Feature Count: (\d+)$/m.exec(text)?.[1])
  if (count !== ROWS) throw new Error(`${file}: found ${count} features, expected ${ROWS}`)
  return count
}

function hasIndex(file) {
  const db = new Database(file, { readonly: true })
  const found = db.prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'rtree_%'").pluck().get()
  db.close()
  return found > 0 ? 'yes' : 'no'
}

function least(runs, name) {
  return Math.min(...runs.map((run) => run[name]))
}

function print(title, { seconds, cpuS, growthMb, bytes }) {
  const growth = growthMb === undefined ? '' : `, RSS growth ${growthMb.toFixed(0)} MB`
  console.log(
    `${title.padEnd(30)} ${(ROWS / seconds).toFixed(0).padStart(8)} rows/s in ${seconds.toFixed(2)} s, processor ${cpuS.toFixed(2)} s, ${((cpuS / ROWS) * 1e6).toFixed(1)} µs a row, ${(bytes / 1e6).toFixed(0)} MB${growth}`,
  )
}

function* linesOf() {
  for (let from = 0; from < ROWS; from += BATCH) {
    let text = ''
    for (let n = from; n < Math.min(ROWS, from + BATCH); n++) text += `${JSON.stringify(featureOf(n))}\n`
    yield text
  }
}

/** Ten thousand sensors, each once a minute, anywhere in a degree square. */
function featureOf(n) {
  const time = new Date(1_735_700_000_000 + Math.floor(n / 10_000) * 60_000).toISOString()
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139 + spreadOf(n, 1), 35 + spreadOf(n, 2)] },
    properties: {
      start_datetime: time,
      end_datetime: time,
      sensor: n % 10_000,
      value: spreadOf(n, 3) * 100,
      note: `note ${100_000 + (n % 900_000)}`.slice(0, 11),
    },
  }
}

/** 0 to 1, the same in every run. */
function spreadOf(n, seed) {
  const x = Math.imul(n + seed * 0x9e3779b9, 0x85ebca6b)
  return ((Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0) % 1_000_000) / 1e6
}
