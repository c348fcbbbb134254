// npm run picture: writes docs/pictures/ from a gateway with the demo town: demo-routes.svg from its map, flood and routes,
// and console.png, a screenshot, where Chromium is installed. `npm run picture -- FOLDER` writes pictures of all pages of
// the console into a folder, and prints what is wrong with their layout (pictures/gallery/main.mjs).
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { startGateway } from './bench/gateway.mjs'
import { CHROMIUM, photographConsole } from './pictures/console.mjs'
import { drawRoutes } from './pictures/draw-routes.mjs'
import { makeGallery } from './pictures/gallery/main.mjs'

const FOLDER = 'docs/pictures'
/** Sensitivities of the demo's own calls: level 10 costs 10,000 times the travel time. */
const AVOID = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]
const AT = '2026-01-01 00:00:00Z'

const words = process.argv.slice(2)
if (words.length > 0) await makeGallery(words)
else await makeCommitted()

async function makeCommitted() {
  const { roadsOf, demo } = await loadRoads()
  mkdirSync(FOLDER, { recursive: true })
  const gateway = await startGateway({ args: ['--demo'] })
  try {
    writeFileSync(`${FOLDER}/demo-routes.svg`, await routesPicture(gateway, roadsOf, demo))
    if (existsSync(CHROMIUM))
      writeFileSync(
        `${FOLDER}/console.png`,
        await photographConsole({ gateway, start: demo.start, goal: demo.goal }),
      )
    else console.log(`skipped console.png: ${CHROMIUM} is not installed`)
  } finally {
    await gateway.stop()
  }
}

async function routesPicture(gateway, roadsOf, demo) {
  const call = (method, params) => callOf(gateway, method, params)
  const ends = { start_lonlat: demo.start, goal_lonlat: demo.goal, start_datetime: AT, map: demo.mapName }
  const quickest = lineOf(await call('routing.dijkstra', { themes: {}, ...ends }))
  const detour = lineOf(await call('routing.dijkstra', { themes: { flood: AVOID }, ...ends }))
  const cells = await call('mapserv.riskmap', {
    type: 'Feature',
    geometry: null,
    properties: { start_datetime: AT, themes: ['flood'] },
  })
  const roads = roadsOf(path.join(gateway.dataDir, 'maps', `${demo.mapName}.graph`))
  const { start, goal } = demo
  return drawRoutes({ roads, cells: cells.features, quickest, detour, start, goal })
}

async function callOf(gateway, method, params) {
  const response = await fetch(`${gateway.url}/api/v1/svcapi/jsonrpc/call/${method}`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify(params),
  })
  if (!response.ok) throw new Error(await response.text())
  return await response.json()
}

/** Line of a route: its pieces joined. */
function lineOf({ geojson }) {
  const lines = geojson.features.map(({ geometry }) => geometry).filter(({ type }) => type === 'LineString')
  return lines.flatMap(({ coordinates }) => coordinates)
}

async function loadRoads() {
  const outfile = path.resolve('build/picture-roads.cjs')
  await build({
    entryPoints: ['scripts/pictures/roads.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    logLevel: 'warning',
  })
  return (await import(pathToFileURL(outfile).href)).default
}
