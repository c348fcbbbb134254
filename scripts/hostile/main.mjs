/**
 * `npm run hostile`: attacks on the built program, limited to 512 MB as the installed unit is, with an honest
 * client beside them. Prints for each attack what the honest client met.
 *
 * Options: --minutes=N (all attacks again and again for that long; absent: once), --seconds=N of each attack
 * (10), --attacks=NAME,NAME, --short (2 s each, smaller tables), --strict (the honest client's times count,
 * too: for a machine that does nothing else), --hub (a process of a hub, whose engines are not limited),
 * --program=FILE, --json=FILE (the table as JSON).
 * Exit code 1 when the gateway ended, refused or lost an honest call, took more memory than it may, or did not
 * recover.
 */
import { execFileSync, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '../bench/gateway.mjs'
import { spread } from '../bench/load.mjs'
import { rpc, townOf } from '../bench/traffic.mjs'
import { readOptions } from '../options.mjs'
import { DATASET, feature, isTooLarge, LOADER, MAPS, makeTable, record, SESSION } from './api.mjs'
import { startEnginesOfHub } from './hub.mjs'
import { ATTACKS } from './list.mjs'
import { limitMemory } from './memory-limit.mjs'

const MEMORY_MB = 512
/** Recovery that is allowed after an attack. */
const RECOVERY_S = 10
/** Time without a slow, failed or open call that is a recovery, in the short form. */
const CALM_MS = 500
/** Times that are allowed with --strict, 99th percentile. */
const HEALTH_MS = 50
const CALLS_MS = 250
/** The attackers' share of the processor belongs to other machines; here they give way to this program. */
const ATTACKER_NICE = 10
/** Of the honest client's citation, which a hub does not make. */
const CITED_PAGE = { citation_label: 'honest-cited', limit: 10, offset: 20 }

const options = readOptions('hostile', {
  minutes: 'number',
  seconds: 'number',
  attacks: 'text',
  short: 'flag',
  strict: 'flag',
  hub: 'flag',
  program: 'text',
  json: 'text',
})
const chosen = chooseAttacks(options.attacks)
const seconds = options.seconds ?? (options.short ? 2 : 10)
const scale = options.short ? 0.1 : 1
const limit = limitMemory(MEMORY_MB * 2 ** 20)
const engines = options.hub ? await startEnginesOfHub() : undefined
if (options.hub && engines === undefined) process.exit(0)
const admin = (path, method, params) => rpc(gateway, path, method, params)
let gateway
let honest
let facts
let logBytes = 0
const results = []
console.log(
  `# ${limit === null ? `memory is not limited (no control group), expected at most ${MEMORY_MB} MB` : `memory limited to ${MEMORY_MB} MB`}, ${os.availableParallelism()} cores, ${seconds} s an attack`,
)
try {
  await begin()
  await run()
} finally {
  await end()
  await engines?.end()
  limit?.remove()
}
if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results, null, 2))
const failed = results.filter(({ faults }) => faults.length > 0)
for (const { name, faults } of failed) console.log(`FAILED ${name}: ${faults.join('; ')}`)
console.log(`${results.length - failed.length} attacks withstood, ${failed.length} not`)
process.exit(failed.length > 0 ? 1 : 0)

/** Starts a gateway over a new data directory, and the honest client. */
async function begin() {
  const started = {
    env: { MALLOC_ARENA_MAX: '1' }, // as the unit has it
    wrap: limit?.wrap,
    ...(options.program === undefined ? {} : { program: options.program }),
    onLog(line) {
      logBytes += line.length + 1
    },
  }
  gateway =
    engines === undefined
      ? await startGateway({ ...started, args: ['--demo'], isLimited: true })
      : await engines.start(started)
  const town = await townOf(gateway)
  facts = { town: { ...town, east: town.west + town.width, north: town.south + town.height } }
  const calls = await honestCalls(town)
  honest = fork(new URL('honest.mjs', import.meta.url), [
    JSON.stringify({ port: gateway.port, headers: gateway.headers, calls }),
  ])
  await sleep(2000) // the first calls of each kind prepare their statements
  await take()
}

async function end() {
  honest?.kill()
  // one that ended by itself, or that hangs, has its line in the table
  const stopping = gateway?.stop().catch(() => undefined)
  const hasStopped = await Promise.race([stopping?.then(() => true), sleep(20_000)])
  if (!hasStopped && gateway !== undefined) process.kill(gateway.pid, 'SIGKILL')
  await stopping
}

async function run() {
  print({
    name: 'attack',
    cells: [
      'health p50',
      'p99 ms',
      'calls p50',
      'p99 ms',
      'failed',
      'RSS MB',
      'recovery s',
      'log kB',
      'attacker',
    ],
  })
  await sleep(seconds * 1000)
  print(rowOf('(none)', await take(), { peakMb: gateway.rssMb(), recoveryS: 0, logKb: 0 }, {}))
  const endAt = performance.now() + (options.minutes ?? 0) * 60_000
  do
    for (const attack of chosen) {
      const row = await strike(attack)
      print(row)
      if (row.faults === undefined) continue
      results.push(row)
      if (row.faults.length === 0) continue
      // what one attack left behind must not count for the next
      await end()
      await begin()
    }
  while (performance.now() < endAt)
}

/** Runs one attack, then waits for the recovery. @returns its row; without `faults` where it is not possible */
async function strike(attack) {
  try {
    await attack.prepare?.(admin, scale)
  } catch (error) {
    if (!isTooLarge(error)) throw error
    return { name: attack.name, cells: ['skipped: its rows are too large for this hub'] }
  }
  const headers = attack.scopes === undefined ? {} : makeKey(attack.name, attack.scopes)
  const attackerFacts = {
    ...facts,
    port: gateway.port,
    pid: gateway.pid,
    keyId: gateway.headers.APIKey,
    headers,
  }
  await sleep(options.short ? 300 : 1000)
  await take()
  const attacker = fork(new URL('attacker.mjs', import.meta.url), [
    JSON.stringify({ name: attack.name, facts: attackerFacts }),
  ])
  os.setPriority(attacker.pid, Math.min(19, os.getPriority() + ATTACKER_NICE))
  const watch = watchMemory()
  logBytes = 0
  await sleep(Math.max(seconds, options.short ? 0 : (attack.seconds ?? 0)) * 1000)
  const counts = await stopAttacker(attacker)
  const endedAtMs = Date.now()
  const during = await take()
  const after = options.short ? await recovered() : await sleep(RECOVERY_S * 1000).then(take)
  const peakMb = watch.stop()
  const recoveryS = after.lastBadAtMs === null ? 0 : (after.lastBadAtMs - endedAtMs) / 1000
  return rowOf(attack.name, merge(during, after), { peakMb, recoveryS, logKb: logBytes / 1000 }, counts)
}

/** Calls of the honest client until half a second was as before the attack, or the time for it was over. */
async function recovered() {
  let all = await take()
  for (let waitedMs = 0; waitedMs < RECOVERY_S * 1000; waitedMs += CALM_MS) {
    await sleep(CALM_MS)
    const last = await take()
    all = merge(all, last)
    if (last.lastBadAtMs === null && !last.isWaiting) break
  }
  return all
}

function rowOf(name, { health, calls, failures }, { peakMb, recoveryS, logKb }, counts) {
  const [healthTimes, callTimes] = [spread(health), spread(calls)]
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0)
  const faults = []
  if (!gateway.isRunning()) faults.push('the gateway ended')
  if (failed > 0) faults.push(`${failed} honest calls failed, for instance ${Object.keys(failures)[0]}`)
  if (peakMb > MEMORY_MB) faults.push(`${peakMb.toFixed(0)} MB, at most ${MEMORY_MB}`)
  if (recoveryS >= RECOVERY_S - 0.5) faults.push(`no recovery within ${RECOVERY_S} s`)
  if (options.strict && healthTimes.p99Ms > HEALTH_MS)
    faults.push(`/healthz took ${healthTimes.p99Ms.toFixed(0)} ms`)
  if (options.strict && callTimes.p99Ms > CALLS_MS) faults.push(`calls took ${callTimes.p99Ms.toFixed(0)} ms`)
  const outcomes = Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 4)
    .map(([outcome, count]) => `${outcome} ×${count}`)
  const numbers = [healthTimes.p50Ms, healthTimes.p99Ms, callTimes.p50Ms, callTimes.p99Ms].map((ms) =>
    ms.toFixed(1),
  )
  const cells = [
    ...numbers,
    `${failed}`,
    peakMb.toFixed(0),
    recoveryS.toFixed(1),
    logKb.toFixed(0),
    outcomes.join(', '),
  ]
  return { name, faults, cells, failures, counts }
}

function print({ name, cells }) {
  const widths = [11, 8, 10, 8, 7, 7, 11, 7]
  console.log([name.padEnd(16), ...cells.map((cell, i) => cell.padStart(widths[i] ?? 0))].join(' '))
}

/** Small calls of apps on site, one of each kind. @returns { path, body } of each */
async function honestCalls(town) {
  const point = (i) => ({ type: 'Point', coordinates: town.places[i % town.places.length] })
  if (await makeTable(admin, 'honest', { id: 'int4', mm: 'float8' })) {
    const record_set = Array.from({ length: 200 }, (_, id) => record(point(id), { id, mm: id / 7 }))
    await admin(LOADER, 'loaderwebapi.add_record', { data_name: 'honest', record_set })
  }
  if (engines === undefined) await makeCitation()
  const [start_lonlat, goal_lonlat] = town.places
  const at = { start_datetime: '2026-01-01 00:00:00Z' }
  const call = (path, method, params) => ({
    path,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return [
    call(SESSION, 'session.verify_session_token', { token: '4d0c5c1e-8f0f-4c39-9a1c-0f3c2a8f1f55' }),
    call(
      MAPS,
      'mapserv.eventdata',
      feature(null, { table: 'honest', columns: [], conds: { '=': ['id', 7] } }),
    ),
    call(MAPS, 'routing.nearest', { lonlat: start_lonlat, map: town.map }),
    call(MAPS, 'routing.dijkstra', [{ themes: {}, start_lonlat, goal_lonlat, map: town.map, ...at }]),
    call(LOADER, 'loaderwebapi.add_record', {
      data_name: 'honest',
      options: { if_exists: 'override' },
      record_set: [record(point(3), { id: 3, mm: 1.5 })],
    }),
    ...(engines === undefined ? [call(DATASET, 'dataset.record.get', CITED_PAGE)] : []),
    call(MAPS, 'mapserv.eventdata', feature(point(5), { table: 'honest', columns: [], limit: 10 })),
  ]
}

async function makeCitation() {
  await admin(DATASET, 'dataset.create', {
    dataset_name: 'honest',
    columns: [{ column_name: 'id', data_type: 'bigint' }],
    key_columns: ['id'],
  })
  const records = Array.from({ length: 100 }, (_, id) => [id])
  await admin(DATASET, 'dataset.record.put', { dataset_name: 'honest', records })
  await admin(DATASET, 'dataset.citation.create', { citation_label: 'honest-cited', source: 'honest' })
}

/** Highest resident memory until `stop`. */
function watchMemory() {
  let peakMb = 0
  const look = () => {
    if (gateway.isRunning()) peakMb = Math.max(peakMb, gateway.rssMb())
  }
  const timer = setInterval(look, 50)
  return {
    stop() {
      clearInterval(timer)
      return peakMb
    },
  }
}

function take() {
  return new Promise((resolve) => {
    honest.once('message', resolve)
    honest.send('take')
  })
}

async function stopAttacker(attacker) {
  const counts = new Promise((resolve) => {
    attacker.once('message', resolve)
    attacker.once('exit', () => resolve({ 'the attacker ended': 1 }))
  })
  if (attacker.connected) attacker.send('stop')
  // an attacker that is busy with its own answers is ended
  const found = await Promise.race([counts, sleep(2000).then(() => ({}))])
  attacker.kill('SIGKILL')
  return found
}

function merge(a, b) {
  const failures = { ...a.failures }
  for (const [name, count] of Object.entries(b.failures)) failures[name] = (failures[name] ?? 0) + count
  const lastBadAtMs = b.lastBadAtMs ?? a.lastBadAtMs
  return { health: [...a.health, ...b.health], calls: [...a.calls, ...b.calls], failures, lastBadAtMs }
}

function makeKey(name, scopes) {
  const { apiKey, secret } = gateway.makeKey?.(name, scopes) ?? gatewayKey(name, scopes)
  return { APIKey: apiKey, Secret: secret, 'Content-Type': 'application/json' }
}

function gatewayKey(name, scopes) {
  const program = options.program ?? 'dist/fieldgate.cjs'
  const args = [program, 'key', 'create', '--data-dir', gateway.dataDir, '--name', name, '--json']
  for (const scope of scopes) args.push('--scope', scope)
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

function chooseAttacks(text) {
  if (text === undefined) return ATTACKS
  const names = text.split(',')
  const unknown = names.filter((name) => !ATTACKS.some((attack) => attack.name === name))
  if (unknown.length === 0) return ATTACKS.filter(({ name }) => names.includes(name))
  console.error(
    `hostile: found the attacks ${unknown.join(', ')}, expected some of ${ATTACKS.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}
