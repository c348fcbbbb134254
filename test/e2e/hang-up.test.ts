import { mkdirSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { makeGraph } from '../support/make-graph.js'
import { until } from '../support/models.js'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'
import { at, town } from '../support/town.js'

const MAPS = '/api/v1/svcapi/jsonrpc'
/** crossings along a side of the town */
const SIDE = 60
const LAST = SIDE - 1

/** A request over a connection of its own, which `hangUp` cuts. */
function ask(t: Test, gateway: TestGateway, method: string, params: unknown) {
  const request = http.request(`${gateway.url}${MAPS}/call/${method}`, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', ...pairHeaders(gateway.admin) },
  })
  const state = { isAnswered: false }
  request.on('response', (response) => {
    state.isAnswered = true
    response.resume()
  })
  request.on('error', () => undefined) // the hang-up itself
  t.teardown(() => request.destroy())
  request.end(JSON.stringify(params))
  return { state, hangUp: () => request.destroy() }
}

/** From corner to corner, again and again. */
function longSearch() {
  const corners = [at(0, 0), at(LAST, LAST)]
  return {
    themes: {},
    start_lonlat: corners[0],
    goal_lonlat: corners[1],
    via: Array.from({ length: 1000 }, (_, n) => corners[(n + 1) % 2]),
    start_datetime: '2026-01-01 12:00:00+09',
  }
}

t.test('hang-up: a route search is ended in its worker, and the next one is answered', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(town(SIDE)))
  const gateway = await startGateway(t, { dataDir, settings: { routing: { maxVia: 1000 } } })
  const ended = () =>
    gateway.logLines.filter(({ msg }) => msg === 'a call ended after its caller had given up') as {
      outcome: string
    }[]
  // how long a search takes is the machine's affair: from a try that is over before the hang-up to one that
  // is not
  for (let waitMs = 60; !ended().some(({ outcome }) => outcome === 'CANCELLED'); waitMs *= 0.8) {
    const before = ended().length
    const { state, hangUp } = ask(t, gateway, 'routing.dijkstra', longSearch())
    await sleep(waitMs)
    hangUp()
    await until('the worker ended it', () => ended().length > before || state.isAnswered)
  }
  t.match(
    ended().find(({ outcome }) => outcome === 'CANCELLED'),
    { work: 'route', outcome: 'CANCELLED' },
  )
  const next = await gateway.call(MAPS, 'routing.dijkstra', [
    { themes: {}, start_lonlat: at(0, 0), goal_lonlat: at(1, 1), start_datetime: '2026-01-01 12:00:00+09' },
  ])
  t.equal(next.body.error, undefined, 'the next one is answered')
  t.ok(
    gateway.logLines.some(({ path, status }) => path === `${MAPS}/call/routing.dijkstra` && status === 499),
    'the log tells that the caller went away',
  )
})
