// A gateway with much data for the bench of the console: the map of Porto with its base map, 200 tables, one with
// 1,000,000 rows, one with 10,000 places in the city, and a risk theme.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createRandom } from '../../random.mjs'
import { startGateway } from '../gateway.mjs'

const PROGRAM = path.resolve('dist/fieldgate.cjs')
export const TABLES = 200
export const ROWS = 1_000_000
export const PLACES = 10_000
/** Cells of the risk theme: a grid of this many in each direction. */
const GRID = 40
/** West, south, east, north of the city. */
export const CITY = [-8.66, 41.14, -8.57, 41.19]
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const ALL_YEAR = { start_datetime: '2026-01-01T00:00:00Z', end_datetime: '2026-12-31T00:00:00Z' }

/**
 * Starts the gateway. With BENCH_CONSOLE_WORLD, a folder, the data are made once and kept there.
 *
 * @param extract of Porto
 */
export async function startWorld(extract) {
  const kept = process.env.BENCH_CONSOLE_WORLD
  const isThere = kept !== undefined && existsSync(path.join(kept, 'data.db'))
  const gateway = await startGateway(kept === undefined ? {} : { dataDir: kept })
  const stop = () => gateway.stop({ keep: kept !== undefined })
  try {
    if (!isThere) await fill(gateway, extract)
    return { ...gateway, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function fill(gateway, extract) {
  const maps = path.join(gateway.dataDir, 'maps')
  mkdirSync(maps, { recursive: true })
  const build = ['map', 'build', '--base', '--force', '-o', path.join(maps, 'porto.graph'), extract]
  execFileSync(process.execPath, [PROGRAM, ...build], { stdio: 'ignore' })
  await register(gateway, 'flood', { cell: { udt_name: 'int4' }, risk: { udt_name: 'int2' } }, ['cell'])
  await send(gateway, 'flood', cells())
  const values = { n: { udt_name: 'int4' }, name: { udt_name: 'varchar' }, value: { udt_name: 'float8' } }
  await register(gateway, 'places', values, ['n'])
  await send(gateway, 'places', places(PLACES))
  await register(gateway, 'rows', values, ['n'])
  await send(gateway, 'rows', places(ROWS))
  for (let n = 3; n < TABLES; n++)
    await register(gateway, `table_${String(n).padStart(3, '0')}`, values, ['n'])
  await mapTaken(gateway)
}

async function register(gateway, name, record_def, unique_columns) {
  const params = { data_name: name, record_def, unique_columns }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'loaderwebapi.register_loader', params })
  const response = await fetch(`${gateway.url}${LOADER}`, { method: 'POST', headers: gateway.headers, body })
  const answer = await response.json()
  if (answer.error !== undefined) throw new Error(`${name}: ${JSON.stringify(answer.error)}`)
}

/** Sends features as lines to the stream endpoint. */
function send(gateway, name, features) {
  const headers = { ...gateway.headers, 'Content-Type': 'application/x-ndjson' }
  const where = { host: '127.0.0.1', port: gateway.port, path: `/api/v1/dataloaderapi/stream/${name}` }
  return new Promise((resolve, reject) => {
    const request = http.request({ ...where, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(text.slice(0, 300))),
      )
    })
    request.on('error', reject)
    writeAll(request, features).catch(reject)
  })
}

async function writeAll(request, features) {
  let text = ''
  for (const feature of features) {
    text += `${JSON.stringify(feature)}\n`
    if (text.length < 500_000) continue
    if (!request.write(text)) await new Promise((resolve) => request.once('drain', resolve))
    text = ''
  }
  request.end(text)
}

/** Squares over the city: a third of them with a risk that falls from the middle. */
function* cells() {
  const [west, south, east, north] = CITY
  const [width, height] = [(east - west) / GRID, (north - south) / GRID]
  for (let cell = 0; cell < GRID * GRID; cell++) {
    const [x, y] = [cell % GRID, Math.floor(cell / GRID)]
    const risk = Math.max(0, 10 - Math.round(Math.hypot(x - GRID / 2, y - GRID / 2)))
    const [left, low] = [west + x * width, south + y * height]
    const ring = [
      [left, low],
      [left + width, low],
      [left + width, low + height],
      [left, low + height],
      [left, low],
    ]
    yield {
      type: 'Feature',
      geometry: { type: 'Polygon', coordinates: [ring] },
      properties: { ...ALL_YEAR, cell, risk },
    }
  }
}

function* places(count) {
  const random = createRandom(count)
  const [west, south, east, north] = CITY
  for (let n = 0; n < count; n++) {
    const at = [west + random() * (east - west), south + random() * (north - south)]
    yield {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: at },
      properties: { ...ALL_YEAR, n, name: `place ${n % 1000}`, value: n / 7 },
    }
  }
}

/** Waits until the gateway has taken up the map, which it finds by itself. */
async function mapTaken(gateway) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'routing.list_maps', params: [{}] })
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(`${gateway.url}/api/v1/svcapi/jsonrpc`, {
      method: 'POST',
      headers: gateway.headers,
      body,
    })
    const { result } = await response.json()
    if (result?.maps.some(({ name }) => name === 'porto')) return
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  throw new Error('the gateway has not taken up the map')
}
