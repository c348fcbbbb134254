// Feeds of tables over loopback: a million points up and down beside the stream endpoint in the same run,
// memory and processor time of both sides, bytes of a row, puts with a feed in place and what digests take of
// them, the time from a row at the upstream to the row here, and what idle feeds cost.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_FLAGS, UNIT_ENV } from '../node-flags.mjs'
import { cpuS, startRan } from '../proc.mjs'
import { startGateway } from './gateway.mjs'
import { spread } from './load.mjs'
import { LOADER, register, rpc, sendFile, streamPieces, verdict, watchRss, writeFile } from './loader.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const PUT_ROWS = Math.ceil(ROWS / 5)
const PUT_ROUNDS = 5
/** with a feed, with digests alone, without both */
const KINDS = ['with', 'counted', 'without']
const WARM_ROWS = 100
const IDLE_S = Number(process.env.BENCH_IDLE_S ?? 30)
const ARRIVALS = 30
/** parts that run: all, or those that are named, of travel, puts, arrival and idle */
const PARTS = process.env.BENCH_PARTS?.split(',')
const ASKED = { share: 0.5, growthMb: 40, rowBytes: 20, putShare: 0.9, idlePercent: 0.1 }
const SYNC = '/api/v2/sync/jsonrpc'
const MAP = '/api/v1/svcapi/jsonrpc'
const KEY = ['sensor', 'start_datetime']
/** Gateways on this machine may send to each other; flags and environment are those of an installation. */
export const ENV = {
  ...UNIT_ENV,
  NODE_OPTIONS: NODE_FLAGS.join(' '),
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
}

export async function run() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  const nodes = await Promise.all(['van', 'base', 'reader'].map(() => startGateway({ env: ENV })))
  const [van, base, reader] = nodes
  try {
    const lines = path.join(dir, 'points.ndjson')
    await writeFile(lines, streamPieces(ROWS))
    await register(van, 'readings', KEY)
    await addUpstream(van, base)
    await addUpstream(reader, base)
    await warmUp(dir, { van, base, reader })
    const startedAt = performance.now()
    const busyBefore = cpuS(van.pid)
    await sendFile(van, '/api/v1/dataloaderapi/stream/readings', lines)
    const streamRate = ROWS / ((performance.now() - startedAt) / 1000)
    const busyUs = ((cpuS(van.pid) - busyBefore) * 1e6) / ROWS
    console.log(
      `stream endpoint: ${streamRate.toFixed(0)} rows/s, ${busyUs.toFixed(1)} µs of processor a row`,
    )
    const isWanted = (part) => PARTS === undefined || PARTS.includes(part)
    if (isWanted('travel')) {
      await travel('up', { asker: van, from: van, to: base, streamRate })
      await travel('down', { asker: reader, from: base, to: reader, streamRate })
    }
    if (isWanted('puts')) await benchPuts(dir, van)
    if (isWanted('arrival')) await benchArrival(base, reader)
    if (isWanted('idle')) await benchIdle(nodes)
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

/** First feeds of each process: their code is loaded, which is told apart from what rows take. */
async function warmUp(dir, { van, base, reader }) {
  const lines = path.join(dir, 'warm.ndjson')
  await writeFile(lines, streamPieces(WARM_ROWS))
  await register(van, 'warm', KEY)
  await sendFile(van, '/api/v1/dataloaderapi/stream/warm', lines)
  await sleep(1000)
  const sides = [van, base, reader].map((node) => ({ before: node.rssMb(), watch: watchRss(node) }))
  for (const [asker, direction] of [
    [van, 'up'],
    [reader, 'down'],
  ]) {
    await rpc(asker, SYNC, 'sync.create_feed', { table: 'warm', direction, upstream: 'up', from: 'all' })
    await untilIdle(asker, direction, 'warm')
  }
  const growths = await Promise.all(sides.map(async ({ before, watch }) => (await watch.stop()) - before))
  const [sends, takes, fetches] = growths.map((mb) => mb.toFixed(1))
  console.log(
    `first feeds of ${WARM_ROWS} rows, RSS growth, MB: gateway with a feed up ${sends}, its upstream ${takes}, gateway with a feed down ${fetches}`,
  )
}

/** Fetches or sends the readings, and tells rate, memory, processor time and size. */
async function travel(direction, { asker, from, to, streamRate }) {
  const sides = [from, to].map((node) => ({
    ...{ node, before: node.rssMb(), watch: watchRss(node), busyS: cpuS(node.pid) },
  }))
  const startedAt = performance.now()
  await rpc(asker, SYNC, 'sync.create_feed', { table: 'readings', direction, upstream: 'up', from: 'all' })
  const feed = await untilIdle(asker, direction)
  const rate = ROWS / ((performance.now() - startedAt) / 1000)
  const growths = await Promise.all(sides.map(async ({ before, watch }) => (await watch.stop()) - before))
  if (feed.rows_sent !== ROWS) throw new Error(`moved ${feed.rows_sent} rows, expected ${ROWS}`)
  const [sent, taken] = sides.map(({ node, busyS }) => (((cpuS(node.pid) - busyS) * 1e6) / ROWS).toFixed(1))
  console.log(
    `${direction}: ${rate.toFixed(0)} rows/s; processor a row: sending ${sent} µs, receiving ${taken} µs`,
  )
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

/**
 * Streams rows into tables without a feed, with one, and with one that is switched off: its digests are kept
 * all the same. The kinds take turns.
 */
async function benchPuts(dir, van) {
  const lines = path.join(dir, 'puts.ndjson')
  await writeFile(lines, streamPieces(PUT_ROWS))
  const rates = { with: [], counted: [], without: [] }
  const busyUs = { with: [], counted: [], without: [] }
  for (let round = 0; round < PUT_ROUNDS; round++)
    for (const kind of round % 2 === 0 ? KINDS : [...KINDS].reverse()) {
      const table = `${kind}_${round}`
      await register(van, table, KEY)
      if (kind !== 'without') await addPutFeed(van, table, kind === 'with')
      const startedAt = performance.now()
      const busyBefore = cpuS(van.pid)
      await sendFile(van, `/api/v1/dataloaderapi/stream/${table}`, lines)
      rates[kind].push(PUT_ROWS / ((performance.now() - startedAt) / 1000))
      busyUs[kind].push(((cpuS(van.pid) - busyBefore) * 1e6) / PUT_ROWS)
      if (kind === 'with') await untilIdle(van, 'up', table)
    }
  const [has, counts, lacks] = KINDS.map((kind) => middle(rates[kind]))
  const [hasUs, countsUs, lacksUs] = KINDS.map((kind) => middle(busyUs[kind]).toFixed(1))
  console.log(
    `puts: ${has.toFixed(0)} rows/s with a feed to another gateway of this machine, ${counts.toFixed(0)} with digests alone, ${lacks.toFixed(0)} without`,
  )
  console.log(
    `puts: processor a row ${hasUs} µs with a feed, what is sent meanwhile included; ${countsUs} with digests alone; ${lacksUs} without`,
  )
  verdict('puts with a feed / without', has / lacks, '>=', ASKED.putShare)
  console.log(`puts with digests alone / without: ${(counts / lacks).toFixed(2)}`)
}

/** Adds a feed, whose table is counted from the first row on; one that is switched off sends nothing. */
async function addPutFeed(van, table, isEnabled) {
  const { feed } = await rpc(van, SYNC, 'sync.create_feed', { table, upstream: 'up', from: 'all' })
  await untilIdle(van, 'up', table)
  await rpc(van, SYNC, 'sync.verify', { feed })
  if (!isEnabled) await rpc(van, SYNC, 'sync.update_feed', { feed, enabled: false })
}

function middle(list) {
  return [...list].sort((a, b) => a - b)[list.length >> 1]
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

/** What the work before has left; threads for large loads end 30 s after it. */
const SETTLE_MS = 40_000

/** Processor time of idle gateways with feeds, beside that of one without. */
async function benchIdle(nodes) {
  const plain = await startGateway({ env: ENV })
  try {
    await sleep(SETTLE_MS)
    const all = [...nodes, plain]
    const ran = all.map(({ pid }) => startRan(pid))
    await sleep(IDLE_S * 1000)
    const percents = ran.map((seconds) => (seconds() / IDLE_S) * 100)
    const idle = percents.at(-1)
    for (const [at, name] of ['feeds up', 'upstream', 'feed down'].entries()) {
      console.log(`idle, ${name}: ${percents[at].toFixed(2)} % of a core; without feeds ${idle.toFixed(2)} %`)
      verdict(`idle feeds, ${name}, %`, percents[at] - idle, '<', ASKED.idlePercent)
    }
  } finally {
    await plain.stop()
  }
}
