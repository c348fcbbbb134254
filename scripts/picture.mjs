// npm run picture: draws scripts/pictures/demo-routes.svg from the demo's own map, flood and routes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const WIDTH = 640
const PROGRAM = 'dist/fieldgate.cjs'
/** As the demo's own lines ask: level 10 is 10,000 times as slow. */
const AVOID = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]
const AT = '2026-01-01 00:00:00Z'

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-picture-'))
const { roadsOf, demo } = await loadRoads()
const key = JSON.parse(
  spawnSync(process.execPath, [PROGRAM, 'init', '--data-dir', dataDir, '--json']).stdout.toString(),
)
const gateway = spawn(
  process.execPath,
  [PROGRAM, 'serve', '--demo', '--data-dir', dataDir, '--port', '0', '--json'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
try {
  const url = await readyUrl()
  const ask = (method, params) => call(url, method, params)
  const ends = { start_lonlat: demo.start, goal_lonlat: demo.goal, start_datetime: AT, map: demo.mapName }
  const [quickest] = routesOf(await ask('routing.dijkstra', { themes: {}, ...ends }))
  const [round] = routesOf(await ask('routing.dijkstra', { themes: { flood: AVOID }, ...ends }))
  const cells = await ask('mapserv.riskmap', {
    type: 'Feature',
    geometry: null,
    properties: { start_datetime: AT, themes: ['flood'] },
  })
  const roads = roadsOf(path.join(dataDir, 'maps', `${demo.mapName}.graph`))
  mkdirSync('scripts/pictures', { recursive: true })
  writeFileSync('scripts/pictures/demo-routes.svg', draw(roads, cells.features, quickest, round))
} finally {
  gateway.kill('SIGTERM')
  await once(gateway, 'exit')
  rmSync(dataDir, { recursive: true })
}

async function readyUrl() {
  let text = ''
  for await (const chunk of gateway.stdout) {
    text += chunk
    const line = text.split('\n').find((one) => one.startsWith('{"event":"ready"'))
    if (line !== undefined) return JSON.parse(line).url
  }
  throw new Error('the gateway ended before it was ready')
}

async function call(url, method, params) {
  const response = await fetch(`${url}/api/v1/svcapi/jsonrpc/call/${method}`, {
    method: 'POST',
    headers: { APIKey: key.apiKey, Secret: key.secret, 'Content-Type': 'application/json' },
    body: JSON.stringify(params),
  })
  if (!response.ok) throw new Error(await response.text())
  return await response.json()
}

/** Line and figures of the first route: its pieces joined. */
function routesOf({ geojson, ...figures }) {
  const lines = geojson.features.map(({ geometry }) => geometry).filter(({ type }) => type === 'LineString')
  return [{ line: lines.flatMap(({ coordinates }) => coordinates), figures: figures.geojson ?? figures }]
}

function draw(roads, cells, quickest, round) {
  const [west, south, east, north] = boundsOf(roads.flatMap(({ line }) => line))
  const stretch = Math.cos(((south + north) / 2) * (Math.PI / 180))
  const scale = (WIDTH - 20) / ((east - west) * stretch)
  const height = Math.round((north - south) * scale) + 20
  const xy = ([lng, lat]) =>
    `${(10 + (lng - west) * stretch * scale).toFixed(1)} ${(10 + (north - lat) * scale).toFixed(1)}`
  const pathOf = (line) => `M${line.map(xy).join('L')}`
  const streets = roads
    .filter(({ isMain }) => !isMain)
    .map(({ line }) => pathOf(line))
    .join('')
  const mains = roads
    .filter(({ isMain }) => isMain)
    .map(({ line }) => pathOf(line))
    .join('')
  const water = cells.map(({ geometry }) => `${pathOf(geometry.coordinates[0])}Z`).join('')
  const dot = (place, name) => {
    const [x, y] = xy(place).split(' ').map(Number)
    return `<circle cx="${x}" cy="${y}" r="6" fill="#222"/><text x="${x + 10}" y="${y + 5}" font-weight="bold">${name}</text>`
  }
  const legend = [
    ['#d33', 'the quickest way'],
    ['#282', 'the way round the flood'],
  ].map(
    ([color, text], at) =>
      `<path d="M20 ${28 + at * 22}h30" stroke="${color}" stroke-width="5"/><text x="58" y="${33 + at * 22}">${text}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="15" role="img" aria-label="Two routes through the demo town: one through the flood, one round it">
<rect width="100%" height="100%" fill="#fbfaf7"/>
<path d="${water}" fill="#9cc9ee" stroke="#6fa9d8"/>
<g fill="none" stroke-linecap="round" stroke-linejoin="round">
<path d="${streets}" stroke="#c9c4ba" stroke-width="1.5"/>
<path d="${mains}" stroke="#a59d8c" stroke-width="2.5"/>
<path d="${pathOf(round.line)}" stroke="#282" stroke-width="5"/>
<path d="${pathOf(quickest.line)}" stroke="#d33" stroke-width="5"/>
</g>
${dot(demo.start, 'start')}${dot(demo.goal, 'goal')}
<g fill="none"><rect x="10" y="10" width="240" height="56" fill="#fff" opacity=".9"/></g>
${legend.join('')}
</svg>
`
}

function boundsOf(points) {
  const lngs = points.map(([lng]) => lng)
  const lats = points.map(([, lat]) => lat)
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
}

async function loadRoads() {
  const outfile = path.resolve('build/picture-roads.cjs')
  await build({
    entryPoints: ['scripts/picture-roads.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    logLevel: 'warning',
  })
  return (await import(pathToFileURL(outfile).href)).default
}
