// A day of events over a bad link: 64 kbit/s each way, and of each 10 kB that a connection carries 30 % are cut at a random
// byte. How long a feed up and a feed down take, and how many bytes cross the link for a row.
import net from 'node:net'
import { addUpstream, ENV, untilIdle } from './feeds.mjs'
import { startGateway } from './gateway.mjs'
import { LOADER, register, rpc } from './loader.mjs'

const BYTES_PER_S = 8000
const CUT_SHARE = 0.3
/** An event every ten seconds for 24 hours. */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 8640)
/** Bytes of a connection for which a cut is drawn: less than most batches. */
const PART_BYTES = 10_000
const SLICE_MS = 50
const SYNC = '/api/v2/sync/jsonrpc'

export async function run() {
  const env = { ...ENV, FIELDGATE_SYNC__RETRY_CAP_S: '5' }
  const [van, base] = await Promise.all([startGateway({ env }), startGateway({ env })])
  const link = await startLink(base.port)
  try {
    await addUpstream(van, base, `http://127.0.0.1:${link.port}`)
    for (const [direction, node] of [
      ['up', van],
      ['down', base],
    ]) {
      const table = `events_${direction}`
      await register(node, table, ['sensor', 'start_datetime'])
      await putDay(node, table)
      const before = link.counts()
      const startedAt = performance.now()
      await rpc(van, SYNC, 'sync.create_feed', { table, direction, upstream: 'up', from: 'all' })
      const feed = await untilIdle(van, direction, table)
      const seconds = (performance.now() - startedAt) / 1000
      const { bytes, connections, cuts } = link.counts()
      console.log(
        `${direction}: ${EVENTS} events of a day in ${seconds.toFixed(0)} s; ${((bytes - before.bytes) / EVENTS).toFixed(1)} bytes a row on the link, repeats included, ${(feed.bytes_sent / EVENTS).toFixed(1)} in batches; ${cuts - before.cuts} of ${connections - before.connections} connections cut`,
      )
    }
  } finally {
    await van.stop()
    link.stop()
    await base.stop()
  }
}

async function putDay(node, table) {
  for (let from = 0; from < EVENTS; from += 1000) {
    const record_set = Array.from({ length: Math.min(1000, EVENTS - from) }, (_, at) => {
      const n = from + at
      const time = new Date(1_735_700_000_000 + n * 10_000).toISOString()
      const coordinates = [139 + ((n * 7919) % 1e6) / 1e6, 35 + ((n * 104_729) % 1e6) / 1e6]
      const properties = {
        start_datetime: time,
        end_datetime: time,
        sensor: `s${n % 4}`,
        value: (n * 31) % 1000,
      }
      return { type: 'Feature', geometry: { type: 'Point', coordinates }, properties }
    })
    await rpc(node, LOADER, 'loaderwebapi.add_record', { data_name: table, record_set })
  }
}

/** Starts the link: a proxy with one rate for all connections of a direction. @returns its port and counts */
async function startLink(to) {
  let [bytes, connections, cuts] = [0, 0, 0]
  const server = net.createServer((here) => {
    connections++
    const there = net.connect(to, '127.0.0.1')
    const end = () => {
      here.destroy()
      there.destroy()
    }
    const draw = () => (Math.random() < CUT_SHARE ? Math.random() * PART_BYTES : Number.POSITIVE_INFINITY)
    let part = 0
    let cutAt = draw()
    const count = (size) => {
      bytes += size
      part += size
      if (part >= cutAt) {
        cuts++
        end()
      } else if (part >= PART_BYTES) {
        part = 0
        cutAt = draw()
      }
    }
    pass(here, there, lines[0], count)
    pass(there, here, lines[1], count)
    for (const socket of [here, there]) socket.on('error', end).on('close', end)
  })
  const lines = [{ freeAt: 0 }, { freeAt: 0 }]
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: server.address().port,
    counts: () => ({ bytes, connections, cuts }),
    stop: () => server.close(),
  }
}

/** Passes bytes on in slices, each when the line is free. */
async function pass(from, to, line, count) {
  const sliceBytes = (BYTES_PER_S * SLICE_MS) / 1000
  try {
    for await (const chunk of from)
      for (let at = 0; at < chunk.length; at += sliceBytes) {
        const slice = chunk.subarray(at, at + sliceBytes)
        const startAt = Math.max(line.freeAt, performance.now())
        line.freeAt = startAt + (slice.length / BYTES_PER_S) * 1000
        await new Promise((resolve) => setTimeout(resolve, line.freeAt - performance.now()))
        if (to.destroyed) return
        to.write(slice)
        count(slice.length)
      }
    to.end()
  } catch {
    to.destroy() // the other end of a cut connection
  }
}
