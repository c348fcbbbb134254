// A thousand devices that each send one record at the same moment, and one device alone, beside bare SQLite
// with one row a commit on the same disk.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { cpuS, writtenBytes } from '../proc.mjs'
import { openBareSqlite } from './bare-sqlite.mjs'
import { startGateway } from './gateway.mjs'
import { openClient } from './light-client.mjs'
import { spread } from './load.mjs'
import { LOADER, register, verdict } from './loader.mjs'
import { option } from './options.mjs'

const DEVICES = option('devices', 1000)
const ROUNDS = option('rounds', 5)
const ALONE = option('alone', 200)
const TABLE = 'readings'
const RECORD_DEF = {
  device: { udt_name: 'int8' },
  value: { udt_name: 'float8' },
  note: { udt_name: 'varchar', length: 20 },
}
const ASKED_S = 2
/** By default 512 connections are open at most, 256 of them of one address: the devices share this one's. */
const ROOM = {
  FIELDGATE_LIMITS__CONNECTIONS: String(DEVICES + 100),
  FIELDGATE_LIMITS__CONNECTIONS_PER_ADDRESS: String(DEVICES + 100),
}

export async function run() {
  const gateway = await startGateway({ env: ROOM })
  let sent = 0
  /** the next record, of a key of its own */
  const next = () => bodyOf(sent++)
  try {
    await register(gateway, TABLE, ['device', 'start_datetime'], RECORD_DEF)
    await benchAlone(gateway, next)
    await benchTogether(gateway, next)
    await sleep(1500) // until calls are no longer taken for members of the crowd
    await benchAlone(gateway, next)
    const stored = countRows(gateway)
    console.log(`${stored} of ${sent} acknowledged records are stored`)
    if (stored !== sent) throw new Error(`found ${stored} stored records, expected ${sent}`)
  } finally {
    await gateway.stop()
  }
}

async function benchTogether(gateway, next) {
  const clients = Array.from({ length: DEVICES }, () => open(gateway))
  await Promise.all(clients.map((client) => read(client, call('loaderwebapi.get_loader_list', {})))) // connected, and signed in once
  const walls = []
  const all = []
  for (let round = 0; round < ROUNDS; round++) {
    const bodies = clients.map(next)
    const before = writtenBytes(gateway.pid)
    const cpuBeforeS = cpuS(gateway.pid)
    const startedAt = performance.now()
    const took = await Promise.all(
      clients.map(async (client, i) => {
        await read(client, bodies[i])
        return performance.now() - startedAt
      }),
    )
    walls.push(Math.max(...took) / 1000)
    all.push(...took)
    await sleep(500) // other threads may write on after the answers
    const { p50Ms, p99Ms } = spread(took)
    const kb = (writtenBytes(gateway.pid) - before) / 1024
    const cpu = Math.round((cpuS(gateway.pid) - cpuBeforeS) * 1000)
    console.log(
      `${DEVICES} calls at once: all answered after ${walls.at(-1).toFixed(2)} s, p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${kb.toFixed(0)} kB written, ${(kb / DEVICES).toFixed(1)} kB a call, processor of the gateway ${cpu} ms`,
    )
  }
  for (const client of clients) client.close()
  const { p50Ms, p99Ms } = spread(all)
  console.log(`all ${ROUNDS} rounds: p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`)
  const slowestS = Math.max(...walls)
  verdict(`${DEVICES} calls at once, slowest round, s`, slowestS, '<', ASKED_S)
}

/** One writer, each call after the answer of the one before; in turns with bare SQLite, whose disk is the same. */
async function benchAlone(gateway, next) {
  const client = open(gateway)
  const bare = openBareSqlite()
  const ours = []
  const theirs = []
  for (let i = 0; i < ALONE; i++) {
    const body = next()
    ours.push(await timed(() => read(client, body)))
    theirs.push(await timed(() => bare.insert(body)))
  }
  client.close()
  bare.close()
  const [a, b] = [spread(ours), spread(theirs)]
  console.log(
    `one writer alone, ${ALONE} calls: p50 ${a.p50Ms.toFixed(2)} ms, p95 ${a.p95Ms.toFixed(2)} ms; bare SQLite, one row a commit: p50 ${b.p50Ms.toFixed(2)} ms, p95 ${b.p95Ms.toFixed(2)} ms`,
  )
}

async function timed(work) {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function open({ port, headers }) {
  return openClient({ port, path: LOADER, headers })
}

async function read(client, body) {
  const { status, text } = await client.post(body)
  const { result, error } = JSON.parse(text)
  if (status !== 200 || error !== undefined) throw new Error(`found ${status} ${text.slice(0, 300)}`)
  return result
}

function bodyOf(n) {
  // past instants of their own: a key is the device and the time
  const time = new Date(1_735_700_000_000 + n * 1000).toISOString()
  const properties = {
    start_datetime: time,
    end_datetime: time,
    device: n % DEVICES,
    value: n / 7,
    note: 'by the road',
  }
  const coordinates = [139 + (n % 1000) / 1000, 35 + (n % 777) / 777]
  return call('loaderwebapi.add_record', {
    data_name: TABLE,
    record_set: [{ type: 'Feature', geometry: { type: 'Point', coordinates }, properties }],
  })
}

function call(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function countRows({ dataDir }) {
  const db = new Database(path.join(dataDir, 'data.db'), { readonly: true })
  const count = db.prepare(`SELECT count(*) FROM ${TABLE}_tbl_0`).pluck().get()
  db.close()
  return count
}
