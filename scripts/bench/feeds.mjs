// Feeds of tables over loopback: a million points up and down beside the stream endpoint in the same run, memory
// of both sides, bytes of a row, puts with a feed in place, the time from a row at the upstream to the row here, and
// what idle feeds cost.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_FLAGS } from '../node-flags.mjs'
import { startGateway } from './gateway.mjs'
import { spread } from './load.mjs'
import { LOADER, register, rpc, sendFile, streamPieces, verdict, watchRss, writeFile } from './loader.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const PUT_ROWS = Math.ceil(ROWS / 5)
const PUT_PAIRS = 3
const IDLE_S = Number(process.env.BENCH_IDLE_S ?? 30)
const ARRIVALS = 30
const ASKED = { share: 0.5, growthMb: 40, rowBytes: 20, putShare: 0.9, idlePercent: 0.1 }
const SYNC = '/api/v2/sync/jsonrpc'
const MAP = '/api/v1/svcapi/jsonrpc'
const KEY = ['sensor', 'start_datetime']
/** Gateways on this machine may send to each other, with the flags of the released program. */
export const ENV = {
  NODE_OPTIONS: NODE_FLAGS.join(' '),
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
}
const CLOCK_TICKS = 100

export async function run() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  const nodes = await Promise.all(['van', 'base', 'reader'].map(() => startGateway({ env: ENV })))
  const [van, base, reader] = nodes
  try {
    const lines = path.join(dir, 'points.ndjson')
    await writeFile(lines, streamPieces(ROWS))
    await register(van, 'readings', KEY)
    const startedAt = performance.now()
    await sendFile(van, '/api/v1/dataloaderapi/stream/readings', lines)
    const streamRate = ROWS / ((performance.now() - startedAt) / 1000)
    console.log(`stream endpoint: ${streamRate.toFixed(0)} rows/s`)
    await addUpstream(van, base)
    await addUpstream(reader, base)
    await travel('up', { asker: van, from: van, to: base, streamRate })
    await travel('down', { asker: reader, from: base, to: reader, streamRate })
    await benchPuts(dir, van)
    await benchArrival(base, reader)
    await benchIdle(nodes)
  } finally {
    for (const node of nodes) await node.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Makes a key at the upstream, and the upstream. */
export async function addUpstream(node, upstream, endpoint = upstream.url) {
  const argv = ['key', 'create', '--data-dir', upstream.dataDir, '--name', 'n', '--scope', 'sync:write']
  const program = path.resolve('dist/fieldgate.cjs')
  const made = execFileSync(process.execPath, [program, ...argv, '--table', '*', '--json'], {
    encoding: 'utf8',
  })
  const { apiKey, secret } = JSON.parse(made)
  await rpc(node, SYNC, 'sync.create_upstream', { name: 'up', endpoint, apikey: apiKey, secret })
}

/** Fetches or sends the readings, and tells rate, memory and size. */
async function travel(direction, { asker, from, to, streamRate }) {
  const sides = [from, to].map((node) => ({ before: node.rssMb(), watch: watchRss(node) }))
  const startedAt = performance.now()
  await rpc(asker, SYNC, 'sync.create_feed', { table: 'readings', direction, upstream: 'up', from: 'all' })
  const feed = await untilIdle(asker, direction)
  const rate = ROWS / ((performance.now() - startedAt) / 1000)
  const growths = await Promise.all(sides.map(async ({ before, watch }) => (await watch.stop()) - before))
  if (feed.rows_sent !== ROWS) throw new Error(`moved ${feed.rows_sent} rows, expected ${ROWS}`)
  console.log(`${direction}: ${rate.toFixed(0)} rows/s`)
  verdict(`${direction} / stream`, rate / streamRate, '>=', ASKED.share)
  verdict(`${direction}: RSS growth of the sending side, MB`, growths[0], '<', ASKED.growthMb)
  verdict(`${direction}: RSS growth of the receiving side, MB`, growths[1], '<', ASKED.growthMb)
  verdict(`${direction}: bytes a row`, feed.bytes_sent / ROWS, '<', ASKED.rowBytes)
}

/** Waits until the first feed of a direction has everything. @returns it */
export async function untilIdle(node, direction, table = 'readings') {
  for (;;) {
    const feeds = await rpc(node, SYNC, 'sync.list_feeds', {})
    const feed = feeds.find((one) => one.direction === direction && one.table === table)
    if (feed?.last_error !== null) console.log(`  ${feed?.last_error}`)
    if (feed?.state === 'idle' && feed.rows_behind === 0) return feed
    await sleep(100)
  }
}

/** Streams rows into tables with and without a feed, in turn. */
async function benchPuts(dir, van) {
  const lines = path.join(dir, 'puts.ndjson')
  await writeFile(lines, streamPieces(PUT_ROWS))
  const rates = { with: [], without: [] }
  for (let pair = 0; pair < PUT_PAIRS; pair++)
    for (const kind of pair % 2 === 0 ? ['with', 'without'] : ['without', 'with']) {
      const table = `${kind}_${pair}`
      await register(van, table, KEY)
      if (kind === 'with') await rpc(van, SYNC, 'sync.create_feed', { table, upstream: 'up', from: 'all' })
      const startedAt = performance.now()
      await sendFile(van, `/api/v1/dataloaderapi/stream/${table}`, lines)
      rates[kind].push(PUT_ROWS / ((performance.now() - startedAt) / 1000))
      if (kind === 'with') await untilIdle(van, 'up', table)
    }
  const [has, lacks] = [rates.with, rates.without].map(
    (list) => [...list].sort((a, b) => a - b)[PUT_PAIRS >> 1],
  )
  console.log(
    `puts: ${has.toFixed(0)} rows/s with a feed to another gateway of this machine, ${lacks.toFixed(0)} without`,
  )
  verdict('puts with a feed / without', has / lacks, '>=', ASKED.putShare)
}

/** Puts single rows at the upstream, and waits until they are read at the gateway that asks. */
async function benchArrival(base, reader) {
  const ms = []
  for (let n = 0; n < ARRIVALS; n++) {
    const sensor = `arrival-${n}`
    const time = '2025-06-01T00:00:00Z'
    const properties = { start_datetime: time, end_datetime: time, sensor, value: n }
    const geometry = { type: 'Point', coordinates: [139, 35] }
    await rpc(base, LOADER, 'loaderwebapi.add_record', {
      data_name: 'readings',
      record_set: [{ type: 'Feature', geometry, properties }],
    })
    const startedAt = performance.now()
    const query = { table: 'readings', columns: ['sensor'], conds: { '=': ['sensor', sensor] } }
    for (let found = 0; found === 0; ) {
      const { features } = await rpc(reader, MAP, 'mapserv.eventdata', {
        ...{ type: 'Feature', geometry: null, properties: query },
      })
      found = features.length
    }
    ms.push(performance.now() - startedAt)
  }
  const { p50Ms, maxMs } = spread(ms)
  console.log(
    `a row at the upstream is read here ${p50Ms.toFixed(0)} ms after its acknowledgement (p50), at most ${maxMs.toFixed(0)} ms`,
  )
}

/** Processor time of idle gateways with feeds, beside that of one without. */
async function benchIdle(nodes) {
  const plain = await startGateway({ env: ENV })
  try {
    await sleep(15_000) // what the work before has left
    const all = [...nodes, plain]
    const before = all.map(cpuMs)
    await sleep(IDLE_S * 1000)
    const percents = all.map((node, at) => (cpuMs(node) - before[at]) / (IDLE_S * 10))
    const idle = percents.at(-1)
    for (const [at, name] of ['feeds up', 'upstream', 'feed down'].entries()) {
      console.log(`idle, ${name}: ${percents[at].toFixed(2)} % of a core; without feeds ${idle.toFixed(2)} %`)
      verdict(`idle feeds, ${name}, %`, percents[at] - idle, '<', ASKED.idlePercent)
    }
  } finally {
    await plain.stop()
  }
}

function cpuMs({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS) * 1000
}
