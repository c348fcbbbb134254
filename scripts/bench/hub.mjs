// A hub on PostgreSQL and an S3-compatible store: simulated gateways send rows over HTTP, then some of
// them send what they gathered in a day without a link, beside batches of the same size that a driver writes by
// itself. Engines, hub and gateways share the cores. Options: --gateways=N, --events=N a second, --seconds=N,
// --processes=N of gateways, --storms=N times at which all lose their links for 20 s, --backlog=N rows of each of 200
// gateways. BENCH_PROGRAM names another build, such as the executable.
import '../test/load-typescript.mjs'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { hubVerbs, startHubProcess } from '../hub-process.mjs'
import { UNIT_ENV } from '../node-flags.mjs'
import { cpuS, endedCpuS, statusMb } from '../proc.mjs'
import { writeBare } from './hub-bare.mjs'
import { benchProgram, withEngines } from './hub-engines.mjs'
import { option } from './options.mjs'

const { makeHub, startEngines } = await import('../../test/support/hub.ts')

const TABLE = 'sim_points'
const PROFILE = { up: [{ table: TABLE }] }
const BACKLOG_GATEWAYS = 200
/** of PostgreSQL: as an operator runs it, except that its memory fits the machine of a bench */
const SERVER = { fsync: 'on', shared_buffers: '1GB', max_wal_size: '4GB' }
/** connections of the bare batches */
const WRITERS = 2

export const run = () =>
  withEngines(async (owner) => {
    const hub = await startHub(owner)
    await steady(hub)
    await backlog(hub)
  })

/** Starts the engines and one process of a hub. */
async function startHub(owner) {
  const engines = await startEngines(owner, SERVER)
  const place = await makeHub(owner, engines, { settings: { limits: LIMITS } })
  const program = benchProgram()
  const verb = hubVerbs(place, 'bench', program)
  verb('hub', 'init')
  const { url, pid, stop } = await startHubProcess(place, 'bench', { program, env: UNIT_ENV })
  owner.teardown(stop)
  const file = (name, body) => {
    writeFileSync(path.join(place.dir, name), body)
    return path.join(place.dir, name)
  }
  verb('fleet', 'profile', 'set', 'field', file('profile.json', JSON.stringify(PROFILE)))
  const { token } = verb('fleet', 'token', '--profile', 'field', '--uses', '99999')
  const key = verb('key', 'create', '--name', 'reader', '--scope', 'map:read')
  return {
    ...{ url, place, engines, pid, state: path.join(place.dir, 'gateways.json') },
    token: file('token', token),
    keyFile: file('reader.json', JSON.stringify(key)),
  }
}

/** Allowances of a fleet whose gateways share the address of a bench. */
const LIMITS = { connections: 20_000, callsPerMinutePerAddress: 100_000_000, anonymousPerMinute: 100_000_000 }

/** Measures rows that gateways send as they come, with outages, a storm and restarts. */
async function steady(hub) {
  const [gateways, events, seconds] = [option('gateways', 200), option('events', 1000), option('seconds', 60)]
  const storms = option('storms', 1)
  const used = startUse(hub)
  const summary = await simulate(hub, {
    ...{ gateways, 'events-per-second': events, minutes: seconds / 60, 'batch-wait-s': 10 },
    ...{ 'keep-alive-s': 0, 'read-back': 20, storms },
  })
  const share = used()
  const { rowsPerSecond, bytesPerRow, ackMs, outageAckMs, failedSessions, rowsCompared, faultCount } = summary
  console.log(`${gateways} gateways, ${events} events/s asked, ${seconds} s, storms of reconnects: ${storms}`)
  console.log(`rows taken                ${rowsPerSecond} /s, ${bytesPerRow} bytes a row on the wire`)
  console.log(`acknowledgements          p50 ${ackMs.p50} ms, p99 ${ackMs.p99} ms`)
  console.log(`for 60 s after outages    p50 ${outageAckMs.p50} ms, p99 ${outageAckMs.p99} ms`)
  console.log(
    `reconnects                at most ${summary.herd} in a second, ${summary.herdOfMinute} in a minute; ${failedSessions} sessions failed`,
  )
  console.log(`rows compared             ${rowsCompared}, faults ${faultCount}`)
  console.log(`processors                ${share}`)
  console.log(`hub process               ${statusMb(hub.pid, 'VmHWM').toFixed(0)} MB RSS at most`)
}

/** Rows that gateways gathered without a link, beside bare batches. */
async function backlog(hub) {
  const rows = option('backlog', 2000)
  const gateways = BACKLOG_GATEWAYS
  const used = startUse(hub)
  const summary = await simulate(hub, {
    ...{ gateways, 'events-per-second': 0, minutes: 0.02, storms: 0, outages: 0, 'restarts-per-minute': 0 },
    ...{ 'backlog-gateways': gateways, 'backlog-rows': rows, 'drain-s': 3600, 'batch-wait-s': 0.1 },
    ...{ 'slow-percent': 0, 'trouble-percent': 0, seed: 2, table: TABLE, 'read-back': 0 },
  })
  const share = used()
  const { backlogRows, backlogSeconds, batches, faultCount, retries } = summary
  const rate = backlogRows / backlogSeconds
  const batch = Math.round(summary.rows / batches)
  const bareUse = startUse(hub)
  const bare = await writeBare(hub, { rows: backlogRows, batch, writers: WRITERS })
  const percent = Math.round((rate / bare) * 100)
  console.log(
    `\nbacklog of ${gateways} gateways, ${backlogRows} rows in batches of ${batch}, ${retries} sent again, faults ${faultCount}`,
  )
  console.log(`taken                     ${Math.round(rate)} rows/s, ${percent} % of bare batches (70 asked)`)
  console.log(
    `bare batches              ${Math.round(bare)} rows/s, ${WRITERS} connections; processors ${bareUse()}`,
  )
  console.log(`processors                ${share}`)
  console.log(`hub process               ${statusMb(hub.pid, 'VmHWM').toFixed(0)} MB RSS at most`)
}

function simulate(hub, flags) {
  const all = {
    ...{ hub: hub.url, token: hub.token, 'key-file': hub.keyFile, table: TABLE },
    ...{ processes: option('processes', 1), json: 'yes', ...flags },
  }
  const words = Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, ['scripts/fleet/main.mjs', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  return new Promise((resolve, reject) =>
    child.once('exit', (code) => {
      if (text === '') reject(new Error(`the simulation ended with ${code}`))
      else resolve(JSON.parse(text))
    }),
  )
}

/** Begins to count processor time. @returns function that tells the shares since then */
function startUse(hub) {
  const before = secondsOf(hub)
  const startedMs = performance.now()
  return () => {
    const after = secondsOf(hub)
    const seconds = (performance.now() - startedMs) / 1000
    return Object.entries(after)
      .map(([name, value]) => `${name} ${((value - before[name]) / seconds).toFixed(2)}`)
      .join(', ')
  }
}

/** Processor time by part, seconds. That of ended processes of PostgreSQL is with its first one. */
function secondsOf({ pid, engines }) {
  const [first] = readFileSync(path.join(engines.postgres.dataDir, 'postmaster.pid'), 'utf8').split('\n')
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ')
  const postgres = [first, ...children].reduce((sum, each) => sum + withEndedS(each), 0)
  const own = withEndedS('self')
  return { hub: cpuS(pid), postgres, store: cpuS(engines.swift.pid), gateways: own }
}

function withEndedS(pid) {
  try {
    return cpuS(pid) + endedCpuS(pid)
  } catch (error) {
    // it has ended, even between opening and reading: its time is with its parent
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0
    throw error
  }
}
