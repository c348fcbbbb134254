import { mkdirSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Settings } from '../../src/config.js'
import { writeGraphFile } from '../../src/mapbuild/write-graph.js'
import { makeGraph } from '../support/make-graph.js'
import { until } from '../support/models.js'
import { pairHeaders, post, startGateway, type TestGateway } from '../support/start-gateway.js'
import { feature } from '../support/tables.js'
import { at, town } from '../support/town.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const STREAM = '/api/v1/dataloaderapi/stream'
const MAPS = '/api/v1/svcapi/jsonrpc'
/** crossings along a side of the town */
const SIDE = 100

/** A request over a connection of its own, which `hangUp` cuts. */
function ask(t: Test, gateway: TestGateway, method: string, params: unknown) {
  const request = http.request(`${gateway.url}${MAPS}/call/${method}`, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', ...pairHeaders(gateway.admin) },
  })
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', reject)
  })
  response.catch(() => undefined) // the hang-up itself
  t.teardown(() => request.destroy())
  request.end(JSON.stringify(params))
  return { response, hangUp: () => request.destroy() }
}

const logged = (gateway: TestGateway, fields: Record<string, unknown>) =>
  gateway.logLines.find((line) => Object.entries(fields).every(([key, value]) => line[key] === value))

/** From corner to corner, again and again, around a closed block: no preparation of the map helps with it. */
function longSearch() {
  const corners = [at(0, 0), at(SIDE - 1, SIDE - 1)]
  const [west, south] = at(SIDE / 2 + 0.2, SIDE / 2 + 0.2)
  const [east, north] = at(SIDE / 2 + 0.8, SIDE / 2 + 0.8)
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return {
    themes: {},
    start_lonlat: corners[0],
    goal_lonlat: corners[1],
    via: Array.from({ length: 1000 }, (_, n) => corners[(n + 1) % 2]),
    start_datetime: '2026-01-01 12:00:00+09',
    avoid_polygons: [{ type: 'Polygon', coordinates: [ring] }],
    depart: 'fixed',
  }
}

/** A gateway whose searcher takes one search at a time, and a short search that tells whether it is free. */
async function startTown(t: Test, routing: Settings) {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(town(SIDE)))
  const gateway = await startGateway(t, {
    dataDir,
    settings: { routing: { maxQueue: 1, maxVia: 1000, maxSettledNodes: 1_000_000_000, ...routing } },
  })
  const short = async () => {
    const { body } = await gateway.call(MAPS, 'routing.nearest', [{ lonlat: at(1, 1) }])
    return body.error?.data.name ?? 'answered'
  }
  return { gateway, short }
}

/** The long search, once it has the worker for itself. */
async function startLong(t: Test, gateway: TestGateway, short: () => Promise<string>) {
  for (;;) {
    const long = ask(t, gateway, 'routing.dijkstra', longSearch())
    let status: number | undefined
    long.response.then(
      (response) => {
        status = response.statusCode
      },
      () => undefined, // the hang-up
    )
    await until('the worker is busy', async () => (await short()) === 'BUSY' || status !== undefined)
    if (status === undefined) return long
    // a short search may have come first: then it is the long one that is refused
    if (status !== 503) throw new Error(`the search was over before anybody could hang up: HTTP ${status}`)
  }
}

const ended = (gateway: TestGateway) => logged(gateway, { msg: 'work that nobody waits for ended' })

t.test('hang-up: a route search is ended in its worker, and the next one is answered', async (t) => {
  const { gateway, short } = await startTown(t, { timeLimitMs: 600_000 })
  const long = await startLong(t, gateway, short)
  long.hangUp()
  await until('the worker ended it', () => ended(gateway) !== undefined)
  t.match(ended(gateway), { work: 'route', outcome: 'CANCELLED' })
  await until('the next one is answered', async () => (await short()) === 'answered')
  t.match(logged(gateway, { path: `${MAPS}/call/routing.dijkstra` }), { status: 499 })
})

t.test('time limit: a search that takes longer is ended in its worker and tells so', async (t) => {
  const { gateway, short } = await startTown(t, { timeLimitMs: 100 })
  const { body } = await gateway.call(MAPS, 'routing.dijkstra', [longSearch()])
  t.match(body.error, { code: 1017, data: { name: 'TIME_LIMIT', limitMs: 100 } })
  await until('the worker ended it', () => ended(gateway) !== undefined)
  t.match(ended(gateway), { work: 'route', outcome: 'CANCELLED' })
  await until('the next one is answered', async () => (await short()) === 'answered')
})

t.test('hang-up: a streamed result is not read any further, and the next one is answered', async (t) => {
  const gateway = await startGateway(t)
  const record_def = { k: { udt_name: 'int4' }, name: { udt_name: 'text' } }
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'x',
    record_def,
    unique_columns: ['k'],
  })
  const rows = 30_000
  const name = 'x'.repeat(1000) // 30 MB in all: more than lies in the buffers of a connection
  const lines = Array.from({ length: rows }, (_, k) => JSON.stringify(feature(null, { k, name }))).join('\n')
  const loaded = await post(`${gateway.url}${STREAM}/x`, lines, {
    ...pairHeaders(gateway.admin),
    'Content-Type': 'application/x-ndjson',
  })
  t.equal(loaded.body.count_insert, rows)
  const params = { type: 'Feature', geometry: null, properties: { table: 'x' } }
  const { response, hangUp } = ask(t, gateway, 'mapserv.eventdata', params)
  const body = await response
  await new Promise((resolve) => body.once('readable', resolve))
  t.equal(body.statusCode, 200, 'the answer has begun')
  hangUp()
  const gone = { msg: 'the caller hung up; the result is not read any further', method: 'mapserv.eventdata' }
  await until('the reading ended', () => logged(gateway, gone) !== undefined)
  const few = { ...params, properties: { table: 'x', columns: ['k'], limit: 3 } }
  t.equal((await gateway.call(MAPS, 'mapserv.eventdata', few)).body.result.features.length, 3)
  t.same(
    gateway.logLines.filter(({ level }) => level === 'error'),
    [],
    'nothing failed by it',
  )
})
