import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { makeGraph } from '../../support/make-graph.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'
import { at, town } from '../../support/town.js'

const PATH = '/api/v1/svcapi/jsonrpc'
const REQUEST = {
  themes: {},
  start_lonlat: at(0, 0),
  goal_lonlat: at(3, 0),
  start_datetime: '2026-01-01 12:00:00+09',
}

t.test(
  'routing over HTTP: a route from the search worker, errors by name, both forms of params',
  async (t) => {
    const dataDir = path.join(t.testdir(), 'data')
    mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
    writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(town()))
    const gateway = await startGateway(t, { dataDir })
    const { body } = await gateway.call(PATH, 'routing.dijkstra', [REQUEST])
    t.equal(body.error, undefined)
    t.equal(body.result.geojson.features.length, 3)
    t.same((await gateway.call(PATH, 'routing.dijkstra', REQUEST)).body, body)
    const timed = await gateway.call(PATH, 'routing.dijkstra', [REQUEST])
    t.match(timed.headers.get('server-timing'), /^search;dur=\d+\.\d{3}$/)
    const other = await gateway.call('/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.get_loader_list', {})
    t.equal(other.headers.get('server-timing'), null, 'no search, no time')
    const outside = await gateway.call(PATH, 'routing.dijkstra', [{ ...REQUEST, goal_lonlat: [0, 0] }])
    t.match(outside.body.error, { code: 6001, data: { name: 'OUTSIDE_MAP', point: 'goal_lonlat' } })
    const unknown = await gateway.call(PATH, 'routing.dijkstra', [
      { ...REQUEST, themes: { snow: new Array(11).fill(1) } },
    ])
    t.match(unknown.body.error, { code: 6004, data: { name: 'UNKNOWN_THEME', theme: 'snow' } })
    const maps = await gateway.call(PATH, 'routing.list_maps', [{}])
    t.match(maps.body.result.maps, [{ name: 'town', nodes: 25 }])
    const weak = await gateway.makeKey(['session:write'])
    t.equal((await gateway.call(PATH, 'routing.dijkstra', [REQUEST], pairHeaders(weak))).status, 403)
  },
)
