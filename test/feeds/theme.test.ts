import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { boxPolygon } from '../support/boxes.js'
import { call, feedFrom, MAP, register, startNode, until, untilSent } from '../support/feeds.js'
import { makeGraph } from '../support/make-graph.js'
import { at, unevenTown } from '../support/town.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const QUESTION = {
  ...{ start_lonlat: at(0.3, 2), goal_lonlat: at(7.6, 2), start_datetime: '2026-01-01 00:00:00' },
  themes: { flood: [0, 0, 0, 0, 0, 0, 1000, 1000, 1000, 1000, 1000] },
}

t.test('feeds down: a flood that is put upstream changes the next routes here', async (t) => {
  const dir = t.testdir()
  const vanDir = path.join(dir, 'van')
  mkdirSync(path.join(vanDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(vanDir, 'maps', 'town.graph'), makeGraph(unevenTown(9)))
  // writes are looked for every ten minutes: what comes sooner was woken by the write itself
  const rare = { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'], batchWaitS: 600 } }
  const hub = await startNode(t, path.join(dir, 'hub'), rare)
  const van = await startNode(t, vanDir)
  await register(hub, {
    ...{ data_name: 'flood', unique_columns: ['id'] },
    record_def: { id: { udt_name: 'int4' }, risk: { udt_name: 'int4' } },
  })
  await feedFrom(van, hub, { params: { table: 'flood' }, tables: ['flood'] })
  await untilSent(van)
  const route = async () =>
    (await call<{ total_cost: number; total_risk?: number }>(van, MAP, 'routing.dijkstra', [QUESTION]))
      .total_cost
  const dry = await route()
  const delays: number[] = []
  let before = dry
  for (let id = 0; id < 4; id++) {
    // from the south to the north of the town: no route goes round it
    const [[west, south], [east, north]] = [at(2.2 + id, -1), at(2.4 + id, 9)]
    const geometry = boxPolygon(west, south, east, north)
    const properties = { id, risk: 6, start_datetime: null, end_datetime: null }
    const record_set = [{ type: 'Feature', geometry, properties }]
    await call(hub, LOADER, 'loaderwebapi.add_record', { data_name: 'flood', record_set })
    const acknowledgedAt = performance.now()
    const cost = await until(route, (now) => now !== before)
    delays.push(performance.now() - acknowledgedAt)
    t.ok(cost > before, `flood ${id} is paid for`)
    before = cost
  }
  t.comment(`from the acknowledgement to the first route: ${delays.map((ms) => ms.toFixed(0)).join(', ')} ms`)
})
