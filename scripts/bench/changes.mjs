// Live changes: 200 readers of a table, ten of them frozen, 500 changes a second. Whether every other reader has every change in
// order, and what that costs the gateway: memory, processor time, and the calls of others beside them.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { UNIT_ENV } from '../node-flags.mjs'
import { startGateway } from './gateway.mjs'
import { spread } from './load.mjs'
import { LOADER, register, rpc, verdict, watchRss } from './loader.mjs'

const READERS = Number(process.env.BENCH_READERS ?? 200)
const FROZEN = 10
const PER_S = 500
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20)
/** Changes of one call. */
const AT_ONCE = 10
const CALLS_PER_S = 20

export async function run() {
  const gateway = await startGateway({ env: UNIT_ENV })
  try {
    await register(gateway, 'readings', ['sensor', 'start_datetime'])
    const quiet = await callOthers(gateway, async () => await putChanges(gateway, 0, SECONDS / 4))
    const before = gateway.rssMb()
    const first = (SECONDS / 4) * PER_S
    const readers = []
    for (let at = 0; at < READERS; at++) readers.push(await openReader(gateway, first, at < FROZEN))
    const watch = watchRss(gateway)
    const busy = await callOthers(gateway, async () => await putChanges(gateway, first, SECONDS))
    const last = first + SECONDS * PER_S
    await sleep(3000)
    const growthMb = (await watch.stop()) - before
    const live = readers.filter(({ isFrozen }) => !isFrozen)
    const gaps = live.filter(
      ({ seen }) => seen.last !== last || seen.count !== last - first || !seen.isOrdered,
    ).length
    for (const reader of readers) reader.stop()
    console.log(
      `${READERS} readers, ${FROZEN} of them frozen, ${PER_S} changes/s for ${SECONDS} s: RSS ${before.toFixed(0)} MB before, growth ${growthMb.toFixed(0)} MB`,
    )
    console.log(
      `reads beside them: p50 ${busy.p50Ms.toFixed(1)} ms, p99 ${busy.p99Ms.toFixed(1)} ms; without readers ${quiet.p50Ms.toFixed(1)} and ${quiet.p99Ms.toFixed(1)} ms`,
    )
    const late = spread(live.flatMap(({ seen }) => seen.ms))
    console.log(
      `a change is at its readers after p50 ${late.p50Ms.toFixed(0)} ms, p99 ${late.p99Ms.toFixed(0)} ms`,
    )
    verdict('readers with a gap, a repetition or another order', gaps, '<', 1)
  } finally {
    await gateway.stop()
  }
}

/** Puts rows whose value is the time at which they were put. */
async function putChanges(gateway, first, seconds) {
  const startMs = performance.now()
  for (let n = 0; n < seconds * PER_S; n += AT_ONCE) {
    const record_set = Array.from({ length: AT_ONCE }, (_, at) => {
      const time = new Date(1_735_700_000_000 + (first + n + at) * 1000).toISOString()
      const properties = {
        start_datetime: time,
        end_datetime: time,
        sensor: `s${at}`,
        value: Date.now() % 1e7,
      }
      return { type: 'Feature', geometry: { type: 'Point', coordinates: [139, 35] }, properties }
    })
    await rpc(gateway, LOADER, 'loaderwebapi.add_record', { data_name: 'readings', record_set })
    await sleep(Math.max(0, startMs + ((n + AT_ONCE) / PER_S) * 1000 - performance.now()))
  }
}

async function openReader(gateway, after, isFrozen) {
  const seen = { last: after, count: 0, isOrdered: true, ms: [] }
  const query = 'columns=["sensor","value"]'
  const request = http.get(`${gateway.url}/api/v1/dataloaderapi/changes/readings?after=${after}&${query}`, {
    headers: gateway.headers,
    agent: false,
  })
  const response = await new Promise((resolve, reject) =>
    request.once('response', resolve).once('error', reject),
  )
  if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`)
  request.on('error', () => undefined) // it is stopped at the end
  let text = ''
  const onData = (chunk) => {
    const parts = (text + chunk).split('\n\n')
    text = parts.pop()
    for (const part of parts) {
      const [, id] = /^id: (\d+)$/m.exec(part) ?? []
      if (id === undefined) continue
      seen.isOrdered &&= Number(id) > seen.last
      seen.last = Number(id)
      if (seen.count++ % 100 === 0) seen.ms.push((Date.now() % 1e7) - Number(/"value":(\d+)/.exec(part)?.[1]))
    }
  }
  if (isFrozen) response.pause()
  else response.setEncoding('utf8').on('data', onData)
  response.on('error', () => undefined)
  return { seen, isFrozen, stop: () => request.destroy() }
}

/** Calls beside some work. @returns their times */
async function callOthers(gateway, work) {
  const ms = []
  let isOver = false
  const calling = (async () => {
    while (!isOver) {
      const startMs = performance.now()
      await rpc(gateway, LOADER, 'loaderwebapi.get_loader_list', {})
      ms.push(performance.now() - startMs)
      await sleep(1000 / CALLS_PER_S)
    }
  })()
  await work()
  isOver = true
  await calling
  return spread(ms)
}
