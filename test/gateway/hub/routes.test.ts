import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { LOADER_PATH } from '../../../src/gateway/apis.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { baseOf, createPlot } from '../../support/base-maps.js'
import { boxRing } from '../../support/boxes.js'
import { MAP } from '../../support/feeds.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { makeGraph } from '../../support/make-graph.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'
import { at, unevenTown } from '../../support/town.js'

const skip = noHub()
const SIZE = 9
const SENSITIVITY = [0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10]
const DEFINITION = {
  data_name: 'flood',
  record_def: { id: { udt_name: 'int4' }, risk: { udt_name: 'int4' } },
  unique_columns: ['id'],
}
const QUESTION = {
  ...{ start_lonlat: at(0.3, 0), goal_lonlat: at(7.6, 8), via: [at(4, 4)] },
  ...{ themes: { flood: SENSITIVITY }, start_datetime: '2026-01-01 00:00:00' },
}

/** One cell a state, each wider than the one before. */
function cellOf(state: number) {
  const [west, south] = at(-1, -1)
  const [east, north] = at(SIZE, state + 0.5)
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [boxRing(west, south, east, north)] },
    properties: { id: state, risk: 6, start_datetime: null, end_datetime: null },
  }
}

function writeTown(dataDir: string): string {
  const file = path.join(dataDir, 'maps', 'town.graph')
  mkdirSync(path.dirname(file), { recursive: true })
  const graph = makeGraph(unevenTown(SIZE))
  writeGraphFile(file, { ...graph, nodeRank: rankNodes(graph, coordinatesOf(graph, graph.meta.bbox)) })
  return file
}

t.test('hub: routes over the maps of each process obey rows of all processes', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines)
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const file = writeTown(path.join(place.dir, 'one'))
  const plot = createPlot()
  plot.node(0, 0, { place: 'city', name: 'Prova' })
  const base = (await baseOf(t, plot.data())).file
  mkdirSync(path.join(place.dir, 'two', 'maps'), { recursive: true })
  copyFileSync(file, path.join(place.dir, 'two', 'maps', 'town.graph'))
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const three = await serveHub(t, place, 'three') // without a map
  const gatewayDir = path.join(place.dir, 'gateway')
  writeTown(gatewayDir)
  const gateway = await startGateway(t, { dataDir: gatewayDir })
  const call = (hub: typeof one, at: string, method: string, params: unknown) =>
    hubCall(hub, admin, at, method, params)
  const put = async (hub: typeof one, state: number) => {
    const params = { data_name: 'flood', record_set: [cellOf(state)] }
    const there = await gateway.call(LOADER_PATH, 'loaderwebapi.add_record', params)
    const here = await call(hub, LOADER_PATH, 'loaderwebapi.add_record', params)
    t.match([here.body.result, there.body.result], [there.body.result, here.body.result])
  }
  await call(two, LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
  await gateway.call(LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)

  await t.test('answers are those of a gateway, after each acknowledged row', async (t) => {
    const costs = new Set<number>()
    for (let state = 0; state < 6; state++) {
      await put(state % 2 === 0 ? two : one, state)
      const expected = (await gateway.call(MAP, 'routing.dijkstra', [QUESTION])).body
      for (const hub of [one, two])
        t.strictSame((await call(hub, MAP, 'routing.dijkstra', [QUESTION])).body, expected)
      costs.add(expected.result.total_cost)
    }
    t.ok(costs.size > 3, 'the risk grew, and the costs with it')
  })

  await t.test(
    'clients of both processes while rows come in: no answer is older than its request',
    async (t) => {
      let [last, isOver] = [0, false]
      const client = async (hub: typeof one) => {
        let answers = 0
        for (; !isOver; answers++) {
          const least = last
          const { body } = await call(hub, MAP, 'routing.dijkstra', [QUESTION])
          if (!(body.result?.total_cost >= least)) t.fail(`${JSON.stringify(body)} is below ${least}`)
        }
        return answers
      }
      const clients = Promise.all([one, one, two, two].map(client))
      for (let state = 6; state < 12; state++) {
        await put(state % 2 === 0 ? one : two, state)
        const { body } = await call(state % 2 === 0 ? two : one, MAP, 'routing.dijkstra', [QUESTION])
        last = body.result.total_cost
      }
      isOver = true
      t.ok((await clients).every((answers) => answers > 0))
    },
  )

  await t.test('other methods, the list of maps, and a process without a map', async (t) => {
    const listed = (await gateway.call(MAP, 'routing.list_maps', [{}])).body
    t.strictSame((await call(one, MAP, 'routing.list_maps', [{}])).body, listed)
    const near = [{ lonlat: at(1.2, 1) }]
    const expected = (await gateway.call(MAP, 'routing.nearest', near)).body
    t.strictSame((await call(two, MAP, 'routing.nearest', near)).body, expected)
    const none = await call(three, MAP, 'routing.dijkstra', [QUESTION])
    t.match(none.body, { error: { data: { name: 'UNKNOWN_MAP' } } })
    const snow = { ...QUESTION, themes: { snow: SENSITIVITY } }
    const unknown = await call(one, MAP, 'routing.dijkstra', [snow])
    t.match(unknown.body, { error: { data: { name: 'UNKNOWN_THEME' } } })
  })

  await t.test('tiles have the bytes of those of a gateway', async (t) => {
    const [lng, lat] = at(4, 4)
    const z = 15
    const x = Math.floor(((lng + 180) / 360) * 2 ** z)
    const rad = (lat * Math.PI) / 180
    const y = Math.floor(((1 - Math.asinh(Math.tan(rad)) / Math.PI) / 2) * 2 ** z)
    const read = async (url: string, headers: Record<string, string>) => {
      const response = await fetch(url, { headers })
      return [response.status, response.headers.get('etag'), Buffer.from(await response.arrayBuffer())]
    }
    const tile = `/tiles/town/${z}/${x}/${y}.mvt`
    const expected = await read(gateway.url + tile, pairHeaders(gateway.admin))
    t.equal(expected[0], 200)
    t.strictSame(await read(one.url + tile, admin), expected)
    t.equal((await fetch(one.url + tile)).status, 401)
    const described = await fetch(`${one.url}/tiles/town/tiles.json`, { headers: admin })
    t.match(await described.json(), { name: 'town', tiles: [`${one.url}/tiles/town/{z}/{x}/{y}.mvt`] })
    const without = await fetch(`${one.url}/tiles/town/base/tiles.json`, { headers: admin })
    t.match(await without.text(), /NO_BASE_MAP/)

    for (const dir of [gatewayDir, path.join(place.dir, 'one')])
      copyFileSync(base, path.join(dir, 'maps', 'town.mbtiles'))
    const baseTile = '/tiles/town/base/6/33/23.mvt'
    const untilBase = async (url: string, headers: Record<string, string>) => {
      for (;;) {
        const found = await read(url + baseTile, headers)
        if (found[0] !== 404) return found
        await delay(100)
      }
    }
    const baseExpected = await untilBase(gateway.url, pairHeaders(gateway.admin))
    t.equal(baseExpected[0], 200)
    t.strictSame(await untilBase(one.url, admin), baseExpected)
    const places = await call(one, MAP, 'routing.find_places', [{ text: 'prova' }])
    t.match(places.body.result, { places: [{ name: 'Prova' }] })
  })

  await t.test('/readyz and /metrics name maps; new files are loaded as they come', async (t) => {
    const parts = async (hub: typeof one) => (await fetch(`${hub.url}/readyz`)).text()
    t.match(await parts(one), /"maps"/)
    t.match(
      await (await fetch(`${one.url}/metrics`, { headers: admin })).text(),
      /fieldgate_map_bytes\{map="town"\}/,
    )
    writeFileSync(path.join(place.dir, 'two', 'maps', 'torn.graph'), 'no map')
    for (;;) {
      const text = await parts(two)
      if (/torn\.graph/.test(text)) break
      await delay(100)
    }
    mkdirSync(path.join(place.dir, 'three', 'maps'), { recursive: true })
    copyFileSync(file, path.join(place.dir, 'three', 'maps', 'town.graph'))
    for (;;) {
      const { body } = await call(three, MAP, 'routing.dijkstra', [QUESTION])
      if (body.result !== undefined) break
      await delay(100)
    }
  })

  await t.test('without the database routes are refused, and come back with it', async (t) => {
    await engines.postgres.kill()
    const refused = await call(one, MAP, 'routing.dijkstra', [QUESTION])
    t.equal(refused.status, 503)
    await engines.postgres.start()
    const { body } = await call(one, MAP, 'routing.dijkstra', [QUESTION])
    t.ok(body.result?.total_cost > 0, JSON.stringify(body.error))
  })
})
