// A gateway that serves Porto while a risk table changes: 8 clients of mixed profiles, then a hostile request
// beside small ones. Options: --seconds=N (60), --samples=N (400 answers are compared with layer 1); --growth: the
// settings of an installation, 120 s, no hostile request, and a verdict on the memory.
import { execFileSync, fork } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UNIT_ENV } from '../node-flags.mjs'
import { openLib } from './build-child.mjs'
import { isThere, PORTO } from './extracts.mjs'
import { startGateway, UNLIMITED } from './gateway.mjs'
import { openClient } from './light-client.mjs'
import { post, spread } from './load.mjs'
import { option } from './options.mjs'

const CLIENTS = 8
const CHANGE_EVERY_MS = 500
const ROUTES = '/api/v1/svcapi/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const AT = '2026-06-01 00:00:00+00'
const ASKED_LOOP_P99_MS = 20
/** Largest ratio of two medians of RSS that counts as flat. */
const FLAT = 1.05
const THEMES = 11

export async function run() {
  if (!isThere(PORTO)) return
  const lib = await openLib()
  const graphFile = buildMap()
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  mkdirSync(path.join(dataDir, 'maps'))
  copyFileSync(graphFile, path.join(dataDir, 'maps', 'porto.graph'))
  const delayFile = path.join(dataDir, 'loop-delay.json')
  const preload = path.resolve('scripts/bench/loop-delay.cjs')
  const env = { NODE_OPTIONS: `--require ${preload}`, BENCH_LOOP_DELAY_FILE: delayFile }
  const isGrowth = process.argv.includes('--growth')
  const gateway = await startGateway({
    dataDir,
    env: isGrowth ? { ...env, ...UNIT_ENV, ...UNLIMITED } : env,
    isLimited: isGrowth,
  })
  const probe = startProbe(gateway.port)
  try {
    const map = { name: 'porto', graph: lib.loadGraphFile(graphFile) }
    const bench = { lib, map, gateway, probe, delayFile, random: lib.createRandom(7), tables: new Map() }
    await makeTables(bench)
    await mixedLoad(bench, isGrowth ? 120 : 60)
    if (!isGrowth) await hostileRequests(bench)
  } finally {
    probe.disconnect()
    await gateway.stop()
  }
}

function buildMap() {
  const file = path.resolve('build/bench-load-porto.graph')
  const program = path.resolve('dist/fieldgate.cjs')
  if (existsSync(file) && statSync(file).mtimeMs > statSync(program).mtimeMs) return file
  execFileSync(process.execPath, [program, 'map', 'build', PORTO, '--force', '--output', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return file
}

/**
 * Eleven themes; `flood` will change, and so each of its states is kept with the time in which it was
 * committed.
 */
async function makeTables({ lib, map, gateway, random, tables }) {
  const names = ['flood', 'scattered', ...Array.from({ length: THEMES - 2 }, (_, i) => `theme_${i}`)]
  for (const [i, name] of names.entries()) {
    const areas = lib.riskAreas(map.graph, i % 2 === 0 ? 'discs' : 'scattered', random)
    const states = [{ count: 0, sentAt: 0, ackedAt: 0 }]
    const table = { areas: [], states }
    tables.set(name, table)
    await rpc(gateway, LOADER, 'loaderwebapi.register_loader', {
      data_name: name,
      record_def: { id: { udt_name: 'int4' }, risk: { udt_name: 'int4' } },
      unique_columns: ['id'],
    })
    await addCells(gateway, lib, name, table, areas)
    states.shift()
  }
}

async function addCells(gateway, lib, name, table, areas) {
  const first = table.areas.length
  table.areas.push(...areas)
  const record_set = areas.map((geometry, i) => ({
    type: 'Feature',
    geometry,
    properties: { id: first + i, risk: lib.LEVEL, start_datetime: null, end_datetime: null },
  }))
  const sentAt = performance.now()
  await rpc(gateway, LOADER, 'loaderwebapi.add_record', { data_name: name, record_set })
  table.states.push({ count: table.areas.length, sentAt, ackedAt: performance.now() })
}

/** Six profiles in turn; every fiftieth call brings one that was never seen before. */
function themesOf({ times }, i) {
  if (i % 50 === 49) return { scattered: times(100 + i) }
  const mixes = [
    {},
    { flood: times(2) },
    { flood: times(11) },
    { flood: times(10_000) },
    { scattered: times(11) },
    { flood: times(11), scattered: times(2) },
  ]
  return mixes[i % mixes.length]
}

async function mixedLoad(bench, defaultSeconds) {
  const { lib, map, gateway, random, tables } = bench
  const seconds = option('seconds', defaultSeconds)
  const samplesWanted = option('samples', 400)
  const pairs = routablePairs(lib, map, random, 2000)
  const questionOf = (i) => ({ ...pairs[i % pairs.length], start_datetime: AT, themes: themesOf(lib, i) })
  await call(gateway, questionOf(0))
  const samples = []
  const ms = []
  const failures = new Map()
  const rss = [gateway.rssMb()]
  await delays(bench)
  const startedAt = performance.now()
  const endAt = startedAt + seconds * 1000
  let sent = 0
  const client = async () => {
    const { port, headers } = gateway
    const connection = openClient({ port, path: ROUTES, headers })
    while (performance.now() < endAt) {
      const i = sent++
      const question = questionOf(i)
      const sentAt = performance.now()
      const { text } = await connection.post(bodyOf(question))
      const gotAt = performance.now()
      ms.push(gotAt - sentAt)
      if (!text.includes('"result"')) count(failures, JSON.parse(text).error.message)
      else if (samples.length < samplesWanted * ((gotAt - startedAt) / (seconds * 1000)))
        samples.push({ question, text, sentAt, gotAt })
    }
    connection.close()
  }
  const changing = changeFlood(bench, endAt)
  const rssTimer = setInterval(() => rss.push(gateway.rssMb()), 1000)
  await Promise.all(Array.from({ length: CLIENTS }, client))
  clearInterval(rssTimer)
  const elapsedS = (performance.now() - startedAt) / 1000
  await changing
  const { inside, outside } = await delays(bench)
  const { p50Ms, p95Ms, p99Ms, maxMs } = spread(ms)
  console.log(
    `${CLIENTS} clients, ${seconds} s, flood changed ${tables.get('flood').states.length - 1} times, clients in this process`,
  )
  console.log(
    `${(ms.length / elapsedS).toFixed(0)} routes/s, p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(0)} ms; failures ${told(failures)}`,
  )
  printDelays(inside, outside)
  const tenths = Array.from({ length: 11 }, (_, i) => rss[Math.round((i / 10) * (rss.length - 1))].toFixed(0))
  console.log(
    `gateway RSS by tenths of the time, MB: ${tenths.join(' ')}; peak ${gateway.peakRssMb().toFixed(0)}`,
  )
  printGrowth(rss)
  await printMemory(gateway)
  checkSamples(bench, samples)
}

/** Median RSS of the second and of the last quarter: the first one fills the caches. */
function printGrowth(rss) {
  const quarter = Math.floor(rss.length / 4)
  const [second, last] = [rss.slice(quarter, 2 * quarter), rss.slice(-quarter)].map(
    (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN,
  )
  const verdict = last <= second * FLAT ? 'flat' : 'GROWING'
  console.log(
    `RSS, median of the 2nd and the last quarter: ${second.toFixed(0)} and ${last.toFixed(0)} MB: ${verdict}`,
  )
}

/** Where the memory goes, as the gateway's own metrics have it. */
async function printMemory({ metrics, rssMb }) {
  const { sum } = await metrics()
  const mb = (name) => (sum(name) / 1e6).toFixed(0)
  console.log(
    `RSS ${rssMb().toFixed(0)} MB: prepared profiles ${mb('fieldgate_profile_cache_bytes')}, overlays ${mb('fieldgate_overlay_bytes')}, maps ${mb('fieldgate_map_bytes')}, heap of the main thread ${mb('process_heap_bytes')}; the rest is hierarchies, the program, other heaps, and arrays that wait to be collected`,
  )
}

/** One more disc on every second change; small squares on the others. */
async function changeFlood({ lib, map, gateway, random, tables }, endAt) {
  const table = tables.get('flood')
  for (let i = 0; performance.now() < endAt; i++) {
    const area = i % 2 === 0 ? lib.circle(map.graph, random, 500, 24) : lib.circle(map.graph, random, 60, 4)
    await addCells(gateway, lib, 'flood', table, [area])
    await sleep(CHANGE_EVERY_MS)
  }
}

/**
 * Each sampled answer must cost what layer 1 finds on one of the states that the table was in between
 * question and answer: a commit lies between the sending of its call and the answer to it.
 */
function checkSamples({ lib, map, tables }, samples) {
  const searchState = lib.createSearchState(map.graph.nodeCount)
  const { states } = tables.get('flood')
  let [wrong, ofSeveral] = [0, 0]
  for (const { question, text, sentAt, gotAt } of samples) {
    const { result } = JSON.parse(text)
    const possible = 'flood' in question.themes ? statesBetween(states, sentAt, gotAt) : [states[0]]
    if (possible.length > 1) ofSeveral++
    const isRight = possible.some(({ count: cells }) => {
      const risks = Object.entries(question.themes).map(([name, sensitivity]) => {
        const { areas } = tables.get(name)
        return { polygons: name === 'flood' ? areas.slice(0, cells) : areas, sensitivity }
      })
      const oracle = lib.createOracle(map, risks, searchState)
      return oracle.answerMs(question, result) === oracle.costMs(question)
    })
    if (!isRight) wrong++
  }
  console.log(
    `${samples.length} answers compared with layer 1 on the table before or after (${ofSeveral} while it changed): ${wrong === 0 ? 'all equal' : `${wrong} WRONG`}`,
  )
}

function statesBetween(states, sentAt, gotAt) {
  return states.filter((state, i) => {
    const next = states[i + 1]
    return state.sentAt <= gotAt && (next === undefined || next.ackedAt >= sentAt)
  })
}

/**
 * 100 via points in the best order over the whole map, 11 themes, 1,000 closed areas; small calls go on
 * beside it.
 */
async function hostileRequests(bench) {
  const { gateway, lib, map, random } = bench
  const pairs = routablePairs(lib, map, random, 500)
  const quiet = await besideSmallCalls(bench, pairs, () => sleep(5000))
  printSmall('small routes alone', quiet)
  for (const kind of ['first', 'second']) {
    const { question, oracle } = hostileQuestion(bench, pairs)
    let outcome = ''
    const others = await besideSmallCalls(bench, pairs, async () => {
      const startedAt = performance.now()
      const { result, error } = JSON.parse(await call(gateway, question))
      const tookMs = performance.now() - startedAt
      outcome = `${result === undefined ? `refused: ${error.message}` : answered(question, result, oracle)} after ${tookMs.toFixed(0)} ms`
    })
    console.log(
      `hostile request, the ${kind}, ${(JSON.stringify(question).length / 1e6).toFixed(1)} MB: ${outcome}`,
    )
    printSmall('small routes meanwhile', others)
  }
}

/**
 * Its points can be reached from each other in spite of the closed areas, so that all of the work must be
 * done.
 */
function hostileQuestion({ lib, map, random, tables }, pairs) {
  // as many positions as a request may have, the closing ones of the rings included
  const avoid_polygons = Array.from({ length: 1000 }, () => lib.circle(map.graph, random, 30, 9))
  const themes = Object.fromEntries([...tables.keys()].map((name, i) => [name, lib.times(2 + i + random())]))
  const risks = Object.entries(themes).map(([name, sensitivity]) => ({
    polygons: tables.get(name).areas,
    sensitivity,
  }))
  const state = lib.createSearchState(map.graph.nodeCount)
  const open = lib.createOracle(map, [], state, avoid_polygons)
  const isOpen = (from, to) => isRoutable(open, { start_lonlat: from, goal_lonlat: to })
  const points = []
  while (points.length < 102) {
    const point = pairs[Math.floor(random() * pairs.length)].start_lonlat
    const hub = points[0] ?? pairs[0].goal_lonlat
    if (!points.includes(point) && isOpen(hub, point) && isOpen(point, hub)) points.push(point)
  }
  const [start_lonlat, goal_lonlat, ...via] = points
  const ends = { start_lonlat, goal_lonlat, start_datetime: AT }
  return {
    question: { ...ends, via, reorder_waypoints: true, themes, avoid_polygons },
    oracle: lib.createOracle(map, risks, state, avoid_polygons),
  }
}

/** The order of so many points need not be the best one; each leg of it must be the cheapest. */
function answered(question, result, oracle) {
  const via = result.via_order.map((i) => question.via[i])
  const expectedMs = oracle.costMs({ ...question, via, reorder_waypoints: false })
  const isRight = oracle.answerMs(question, result) === expectedMs
  return `answered, ${(result.length / 1000).toFixed(0)} km, ${isRight ? 'each leg equal to layer 1' : 'WRONG'},`
}

/** A small route on every beat while some work runs: what callers wait then. */
async function besideSmallCalls(bench, pairs, work) {
  const { gateway, lib } = bench
  const agent = new http.Agent({ keepAlive: true })
  const ms = []
  const failures = new Map()
  const running = new Set()
  let sent = 0
  await delays(bench)
  const timer = setInterval(() => {
    const i = sent++
    const themes = [{}, { scattered: lib.times(11) }, { flood: lib.times(11) }][i % 3]
    const startedAt = performance.now()
    const one = call(gateway, { ...pairs[i % pairs.length], start_datetime: AT, themes }, agent).then(
      (text) => {
        ms.push(performance.now() - startedAt)
        if (!text.includes('"result"')) count(failures, JSON.parse(text).error.message)
      },
    )
    running.add(one)
    one.finally(() => running.delete(one))
  }, 20)
  await sleep(200)
  await work()
  clearInterval(timer)
  await Promise.all(running)
  agent.destroy()
  return { ms, failures, ...(await delays(bench)) }
}

function printSmall(title, { ms, failures, inside, outside }) {
  const { p50Ms, p95Ms, p99Ms, maxMs } = spread(ms)
  console.log(
    `${title}, 50/s: ${ms.length} calls, p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(0)} ms; failures ${told(failures)}`,
  )
  printDelays(inside, outside)
}

function printDelays(inside, outside) {
  const verdict = inside.p99Ms < ASKED_LOOP_P99_MS ? 'ok' : 'MISSED'
  console.log(
    `main loop of the gateway, late by: p50 ${inside.p50Ms.toFixed(1)} ms, p99 ${inside.p99Ms.toFixed(1)} ms (asked < ${ASKED_LOOP_P99_MS}: ${verdict}), max ${inside.maxMs.toFixed(0)} ms; /healthz from a process of its own: p50 ${outside.p50Ms.toFixed(1)} ms, p99 ${outside.p99Ms.toFixed(1)} ms, max ${outside.maxMs.toFixed(0)} ms, ${outside.failures} failures`,
  )
}

function startProbe(port) {
  return fork('scripts/bench/probe.mjs', [String(port)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** Delays since the last time: by the gateway's own clock, and as a caller meets them. */
async function delays({ gateway, probe, delayFile }) {
  const told = new Promise((resolve) => probe.once('message', resolve))
  probe.send('tell')
  const { took, failures } = await told
  rmSync(delayFile, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  while (!existsSync(delayFile) || statSync(delayFile).size === 0) await sleep(5)
  return { inside: JSON.parse(readFileSync(delayFile, 'utf8')), outside: { ...spread(took), failures } }
}

/** Pairs with a way between them on free roads, which is all that matters: risk closes nothing. */
function routablePairs(lib, map, random, wanted) {
  const oracle = lib.createOracle(map)
  const pairs = []
  while (pairs.length < wanted) {
    const [from, to] = [lib.randomPoint(map.graph, random), lib.randomPoint(map.graph, random)]
    const pair = { start_lonlat: from.lonlat, goal_lonlat: to.lonlat }
    if (isRoutable(oracle, pair)) pairs.push(pair)
  }
  return pairs
}

function isRoutable(oracle, question) {
  try {
    return Number.isFinite(oracle.costMs(question))
  } catch (error) {
    if (error.errorName === 'OUTSIDE_MAP') return false
    throw error
  }
}

function bodyOf(question) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'routing.dijkstra', params: [question] })
}

/** @returns the answer's text */
async function call({ port, headers }, question, agent = false) {
  let answer = ''
  const body = bodyOf(question)
  const onBody = (text) => {
    answer = text
  }
  await post({ agent, host: '127.0.0.1', port, path: ROUTES, headers, body, onBody })
  return answer
}

async function rpc({ port, headers }, callPath, method, params) {
  let answer = ''
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const onBody = (text) => {
    answer = text
  }
  await post({ agent: false, host: '127.0.0.1', port, path: callPath, headers, body, onBody })
  const { result, error } = JSON.parse(answer)
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error).slice(0, 500)}`)
  return result
}

function count(counts, key) {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function told(counts) {
  return counts.size === 0 ? 'none' : [...counts].map(([key, n]) => `${n} × ${key}`).join(', ')
}
