// Our routes beside Valhalla's, with its costs of turns: random pairs on three cities, asked from the built
// program. Options: --pairs=N (500 a city), --differences=N (20 printed). BENCH_PROGRAM names another build of
// the program, BENCH_MAP_OPTIONS further options of its `map build`; pairs are kept in build/ for it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openLib } from './build-child.mjs'
import { isThere, MONACO, PORTO, PORTO_ALEGRE } from './extracts.mjs'
import { startGateway } from './gateway.mjs'
import { post, spread } from './load.mjs'
import { option } from './options.mjs'
import { compareLines } from './same-roads.mjs'
import { openValhalla } from './valhalla.mjs'

const CITIES = [
  { name: 'porto', extract: PORTO, country: 'Portugal', code: 'PT' },
  { name: 'porto-alegre', extract: PORTO_ALEGRE, country: 'Brazil', code: 'BR' },
  { name: 'monaco', extract: MONACO, country: 'Monaco', code: 'MC' },
]
const SAME = 0.8
const FAR_RATIO = 1.25
const ROUTES = '/api/v1/svcapi/jsonrpc'
/** A via point at most so often: `routing.maxVia` is 100. */
const MAX_VIA = 90
const PROGRAM = path.resolve(process.env.BENCH_PROGRAM ?? 'dist/fieldgate.cjs')

export async function run() {
  const lib = await openLib()
  const found = []
  for (const city of CITIES) {
    if (!isThere(city.extract)) continue
    const compared = await compareCity(lib, city)
    if (compared === undefined) return
    found.push(...compared)
  }
  const count = option('differences', 20)
  console.log(`\nthe ${count} routes with the smallest share of the same roads; prices in seconds:`)
  const differences = found.sort((a, b) => a.share - b.share).slice(0, count)
  for (const pair of differences) console.log(toldPair(pair))
  const unfollowed = found.filter((pair) => pair.oursForThem === undefined || pair.theirsForUs === undefined)
  console.log(`\n${unfollowed.length} routes that the other cannot follow:`)
  for (const pair of unfollowed) console.log(toldPair(pair))
  const file = path.resolve('build/bench-valhalla/differences.geojson')
  writeFileSync(file, JSON.stringify(drawnPairs(differences)))
  console.log(`what differs is drawn in ${file}`)
}

async function compareCity(lib, city) {
  const dir = path.resolve('build/bench-valhalla')
  mkdirSync(dir, { recursive: true })
  const pairs = pairsOf(lib, city, dir)
  const valhalla = await openValhalla(lib, city.name, city.extract, { ...city, bbox: bboxOf(pairs) })
  if (valhalla === undefined) return undefined
  const gateway = await serveCity(city)
  try {
    const found = []
    for (const pair of pairs) {
      const [ours, theirs] = [await askUs(gateway, pair), await askThem(valhalla.actor, pair)]
      if (ours === undefined || theirs === undefined) continue
      const compared = compareLines(ours.line, theirs.line)
      const route = { city: city.name, ...pair, ours, theirs, ...compared }
      const [oursForThem, theirsForUs] = [
        await priceForThem(valhalla.actor, ours.line),
        await priceForUs(gateway, pair, theirs.line),
      ]
      found.push({ ...route, oursForThem, theirsForUs })
    }
    printCity(city, pairs, found)
    return found
  } finally {
    await gateway.stop()
  }
}

/** Random places near junctions, drawn once on our map: another build of the program is asked for the same. */
function pairsOf(lib, { name, extract }, dir) {
  const count = option('pairs', 500)
  const file = path.join(dir, `${name}-${count}.json`)
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const map = path.join(dir, `${name}.graph`)
  buildMap(path.resolve('dist/fieldgate.cjs'), extract, map)
  const graph = lib.loadGraphFile(map)
  const random = lib.createRandom(11)
  const place = () => lib.randomPoint(graph, random).lonlat
  const pairs = Array.from({ length: count }, () => ({ from: place(), to: place() }))
  writeFileSync(file, JSON.stringify(pairs))
  return pairs
}

function buildMap(program, extract, file, options = []) {
  execFileSync(
    process.execPath,
    [program, 'map', 'build', extract, '--force', '--output', file, ...options],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
}

async function serveCity({ name, extract }) {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  mkdirSync(path.join(dataDir, 'maps'))
  const options = (process.env.BENCH_MAP_OPTIONS ?? '').split(' ').filter(Boolean)
  buildMap(PROGRAM, extract, path.join(dataDir, 'maps', `${name}.graph`), options)
  return await startGateway({ dataDir, program: PROGRAM })
}

/** @returns undefined without a route */
async function askUs(gateway, { from, to, via }) {
  const question = {
    start_lonlat: from,
    goal_lonlat: to,
    start_datetime: '2026-06-01 00:00:00+00',
    themes: {},
  }
  const params = [via === undefined ? question : { ...question, via }]
  let text = ''
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'routing.dijkstra', params })
  const onBody = (answer) => {
    text = answer
  }
  const { port, headers } = gateway
  await post({ agent: false, host: '127.0.0.1', port, path: ROUTES, headers, body, onBody })
  const { result, error } = JSON.parse(text)
  if (error !== undefined) return undefined
  const line = result.geojson.features.flatMap(({ geometry }) => geometry.coordinates)
  if (line.length < 2) return undefined
  return { line, lengthM: result.length, timeS: result.time * 3600, costS: result.total_cost * 3600 }
}

/** @returns undefined without a route */
async function askThem(actor, { from, to }) {
  const locations = [from, to].map(([lon, lat]) => ({ lon, lat }))
  const query = { locations, costing: 'auto', directions_type: 'none' }
  const { trip } = await actor.route(query).catch(() => ({}))
  if (trip === undefined || trip.summary.length === 0) return undefined
  const { time, cost, length } = trip.summary
  const { shape } = trip.legs[0]
  return { line: decode(shape), lengthM: length * 1000, timeS: time, costS: cost }
}

/** Returns the cost of a line by Valhalla, seconds; undefined where it cannot follow it. */
async function priceForThem(actor, line) {
  const shape = line.map(([lon, lat]) => ({ lon, lat }))
  for (const shape_match of ['edge_walk', 'map_snap']) {
    const { trip } = await actor
      .traceRoute({ shape, costing: 'auto', shape_match, directions_type: 'none' })
      .catch(() => ({}))
    if (trip !== undefined && isAlong(decode(trip.legs[0].shape), line)) return trip.summary.cost
  }
  return undefined
}

/** Returns our cost of a line, seconds, driven over points on it; undefined where we must drive otherwise. */
async function priceForUs(gateway, { from, to }, line) {
  const every = Math.max(1, Math.ceil(line.length / MAX_VIA))
  const middles = line.slice(1).map(([x, y], i) => [(x + line[i][0]) / 2, (y + line[i][1]) / 2])
  const via = middles.filter((_, i) => i % every === 0)
  const driven = await askUs(gateway, { from, to, via })
  return driven !== undefined && isAlong(driven.line, line) ? driven.costS : undefined
}

/** Ends may be moved a little. */
function isAlong(driven, line) {
  return compareLines(driven, line).share > 0.97
}

function printCity({ name }, pairs, found) {
  const part = (share) =>
    ((found.filter((pair) => pair.share > share).length / found.length) * 100).toFixed(1)
  const median = (numberOf) => spread(found.map(numberOf).filter(Number.isFinite)).p50Ms.toFixed(3)
  console.log(
    `${name}: ${found.length} of ${pairs.length} pairs with a route of both; ${part(SAME)} % with over ${SAME * 100} % of the same roads, ${part(0.95)} % with over 95 %, ${part(0.5)} % with over half`,
  )
  console.log(
    `  median of ours to Valhalla's: length ${median(({ ours, theirs }) => ours.lengthM / theirs.lengthM)}, time ${median(({ ours, theirs }) => ours.timeS / theirs.timeS)}`,
  )
  const dearer = (pair) => [pair.oursForThem / pair.theirs.costS, pair.theirsForUs / pair.ours.costS]
  const others = found.filter((pair) => pair.share <= SAME)
  const among = (at) => spread(others.map((pair) => dearer(pair)[at]).filter(Number.isFinite))
  const [forThem, forUs] = [among(0), among(1)]
  console.log(
    `  of the ${others.length} others, by Valhalla's prices ours cost ${forThem.p50Ms.toFixed(3)} times its own (median; 95th percentile ${forThem.p95Ms.toFixed(3)}); by ours its own cost ${forUs.p50Ms.toFixed(3)} (${forUs.p95Ms.toFixed(3)}); ${others.filter(({ theirsForUs }) => theirsForUs === undefined).length} of its own cannot be driven on our map as they are, ${others.filter(({ oursForThem }) => oursForThem === undefined).length} of ours not on its`,
  )
}

function toldPair({ city, from, to, share, ours, theirs, oursForThem, theirsForUs }) {
  const place = ([lng, lat]) => `${lng.toFixed(5)},${lat.toFixed(5)}`
  const km = ({ lengthM }) => (lengthM / 1000).toFixed(2)
  const s = (value) => value?.toFixed(0) ?? '–'
  return `${city} ${place(from)} to ${place(to)}: ${(share * 100).toFixed(0)} %; ours ${km(ours)} km, costs us ${s(ours.costS)}, Valhalla ${s(oursForThem)}; Valhalla's ${km(theirs)} km, costs us ${s(theirsForUs)}, Valhalla ${s(theirs.costS)}`
}

/** Returns the parts that only one of two routes has, for a map viewer. */
function drawnPairs(differences) {
  const drawn = (at, by, lines) => ({
    type: 'Feature',
    geometry: { type: 'MultiLineString', coordinates: lines },
    properties: { at, by },
  })
  const features = differences.flatMap(({ onlyA, onlyB }, i) => [
    drawn(i + 1, 'us', onlyA),
    drawn(i + 1, 'Valhalla', onlyB),
  ])
  return { type: 'FeatureCollection', features }
}

function bboxOf(pairs) {
  const points = pairs.flatMap(({ from, to }) => [from, to])
  const [lngs, lats] = [points.map(([lng]) => lng), points.map(([, lat]) => lat)]
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
}

/** Encoded polyline of six digits. @see https://developers.google.com/maps/documentation/utilities/polylinealgorithm */
function decode(text) {
  const line = []
  const last = [0, 0]
  for (let at = 0, axis = 0; at < text.length; axis = 1 - axis) {
    let value = 0
    for (let shift = 0, byte = 0x20; byte >= 0x20; shift += 5) {
      byte = text.charCodeAt(at++) - 63
      value |= (byte & 0x1f) << shift
    }
    last[axis] += value & 1 ? ~(value >> 1) : value >> 1
    if (axis === 1) line.push([last[1] / 1e6, last[0] / 1e6])
  }
  return line
}

/**
 * Prints what Valhalla needs for a map and its answers, without directions, and how long our routes are beside
 * its own.
 *
 * @param lib routing-lib
 * @param pairs [{ from, to, lengthM, timeS }], ours
 */
export async function runValhalla(lib, name, extract, pairs) {
  const valhalla = await openValhalla(lib, name, extract, { ...CITIES[0], bbox: bboxOf(pairs) })
  if (valhalla === undefined) return
  const beforeMb = process.memoryUsage().rss / 1e6
  for (const pair of pairs.slice(0, 50)) await askThem(valhalla.actor, pair) // reads tiles
  const ms = []
  const found = []
  for (const ours of pairs) {
    const startedAt = performance.now()
    const theirs = await askThem(valhalla.actor, ours)
    if (theirs === undefined) continue
    ms.push(performance.now() - startedAt)
    found.push({ ours, theirs })
  }
  const { p50Ms, p95Ms } = spread(ms)
  const addedMb = process.memoryUsage().rss / 1e6 - beforeMb
  console.log(
    `Valhalla ${valhalla.version}, free flow, ${ms.length} routes: ${p50Ms.toFixed(1)} / ${p95Ms.toFixed(1)} ms; tiles in ${valhalla.wallS.toFixed(1)} s, peak RSS over ${valhalla.peakMb.toFixed(0)} MB; RSS added ${addedMb.toFixed(0)} MB`,
  )
  const ratios = (numberOf) => found.map(({ ours, theirs }) => numberOf(ours) / numberOf(theirs))
  const lengths = ratios(({ lengthM }) => lengthM)
  const times = ratios(({ timeS }) => timeS)
  const far = lengths.filter((ratio) => ratio > FAR_RATIO || ratio < 1 / FAR_RATIO)
  console.log(
    `our routes beside Valhalla's, median: length ${spread(lengths).p50Ms.toFixed(3)}, time ${spread(times).p50Ms.toFixed(3)}; ${far.length} of ${lengths.length} lengths differ by more than ${FAR_RATIO} times (npm run bench -- routing-valhalla)`,
  )
}
