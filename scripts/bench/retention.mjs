// Old rows that go: calls beside the removal and without it, how fast rows go, and what a rule costs those who put rows.
import { setTimeout as sleep } from 'node:timers/promises'
import { UNIT_ENV } from '../node-flags.mjs'
import { startGateway } from './gateway.mjs'
import { spread } from './load.mjs'
import { LOADER, register, rpc, verdict, watchRss } from './loader.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 400_000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 25)
const CALLS_PER_S = 40
const BATCH = 500
const PUT_CALLS = 60
const PUT_ROUNDS = 5
const MAP = '/api/v1/svcapi/jsonrpc'
const DAY_MS = 86_400_000

export async function run() {
  const gateway = await startGateway({ env: UNIT_ENV })
  try {
    for (const name of ['readings', 'others', 'kept'])
      await register(gateway, name, ['sensor', 'start_datetime'])
    await stream(gateway, 'readings', ROWS)
    await putRows(gateway, 'others', 2000)
    await callOthers(gateway, 3)
    const idle = await callOthers(gateway, SECONDS)
    const watch = watchRss(gateway)
    const before = gateway.rssMb()
    const setMs = await timed(() => keep(gateway, 'readings', { age_days: 1 }))
    await sleep(500)
    const first = await removed(gateway)
    const startMs = performance.now()
    const busy = await callOthers(gateway, SECONDS)
    const seconds = (performance.now() - startMs) / 1000
    const gone = (await removed(gateway)) - first
    const growthMb = (await watch.stop()) - before
    console.log(
      `${ROWS} rows: the rule and its index took ${(setMs / 1000).toFixed(1)} s; ${Math.round(gone / seconds)} rows/s go, RSS growth ${growthMb.toFixed(0)} MB`,
    )
    const text = ({ p50Ms, p99Ms }) => `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`
    console.log(`calls beside it: ${text(busy)}; without it: ${text(idle)}`)
    if (gone < BATCH) throw new Error(`found ${gone} rows that went, expected a removal beside the calls`)
    verdict('p99 of calls, as a multiple of that without removal', busy.p99Ms / idle.p99Ms, '<', 1.5)
    await comparePuts(gateway)
  } finally {
    await gateway.stop()
  }
}

/** Puts rows into a table with a rule and one without, in turns. */
async function comparePuts(gateway) {
  await keep(gateway, 'kept', { age_days: 10_000, max_rows: 100_000_000 })
  const perS = { others: [], kept: [] }
  for (let round = 0; round < PUT_ROUNDS; round++)
    for (const name of round % 2 === 0 ? ['others', 'kept'] : ['kept', 'others']) {
      const ms = await timed(() => putRows(gateway, name, PUT_CALLS * BATCH))
      perS[name].push((PUT_CALLS * BATCH * 1000) / ms)
    }
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]
  const [without, with_] = [median(perS.others), median(perS.kept)]
  console.log(
    `puts of ${BATCH} rows: ${Math.round(with_)} rows/s with a rule, ${Math.round(without)} without, ${(with_ / without).toFixed(2)} of it`,
  )
}

let next = 0

function rowsOf(count, ageDays) {
  return Array.from({ length: count }, () => {
    const at = next++
    const time = new Date(Date.now() - ageDays * DAY_MS + (at % 1e6)).toISOString()
    const properties = { start_datetime: time, end_datetime: null, sensor: `s${at}`, value: at }
    const coordinates = [139 + (at % 997) / 997, 35 + (at % 991) / 991]
    return { type: 'Feature', geometry: { type: 'Point', coordinates }, properties }
  })
}

async function stream(gateway, name, count) {
  for (let left = count; left > 0; left -= 50_000) {
    const lines = rowsOf(Math.min(left, 50_000), 30).map((row) => JSON.stringify(row))
    const response = await fetch(`${gateway.url}/api/v1/dataloaderapi/stream/${name}`, {
      method: 'POST',
      headers: streamHeaders(gateway),
      body: lines.join('\n'),
    })
    if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
  }
}

/** Headers of calls name another type. */
function streamHeaders({ headers }) {
  const rest = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')
  return { ...Object.fromEntries(rest), 'content-type': 'application/x-ndjson' }
}

async function putRows(gateway, name, count) {
  for (let left = count; left > 0; left -= BATCH)
    await rpc(gateway, LOADER, 'loaderwebapi.add_record', {
      ...{ data_name: name, record_set: rowsOf(Math.min(left, BATCH), 0) },
    })
}

const keep = (gateway, data_name, rule) =>
  rpc(gateway, LOADER, 'loaderwebapi.set_retention', { data_name, ...rule })

async function removed(gateway) {
  const [found] = await rpc(gateway, LOADER, 'loaderwebapi.list_retention', {})
  return found.removed_rows
}

async function timed(work) {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

/** Reads and puts a few rows of another table. @returns the times of the calls */
async function callOthers(gateway, seconds) {
  const ms = []
  const properties = { table: 'others', limit: 20, order: '-start_datetime' }
  const calls = [
    () => rpc(gateway, MAP, 'mapserv.eventdata', { type: 'Feature', geometry: null, properties }),
    () => putRows(gateway, 'others', 10),
    () => rpc(gateway, LOADER, 'loaderwebapi.get_loader_list', {}),
  ]
  const endMs = performance.now() + seconds * 1000
  for (let n = 0; performance.now() < endMs; n++) {
    const startMs = performance.now()
    await calls[n % calls.length]()
    ms.push(performance.now() - startMs)
    await sleep(Math.max(0, 1000 / CALLS_PER_S - (performance.now() - startMs)))
  }
  return spread(ms)
}
