import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { DEMO, writeDemoTown } from '../../src/demo/town.js'
import { prepareArea } from '../../src/geo/prepared-area.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { verifyGraph } from '../../src/routing/graph/graph-verify.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import type { ThemeRisk } from '../../src/routing/search/overlay.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { graphOf, nameOf } from '../support/osm-fixture.js'
import { type RouteAnswer, routeTextNow } from '../support/routes.js'
import { missing } from '../support/tools.js'
import { asked } from '../support/town.js'

/** The route from the demo's start to its goal, as a line and its totals. */
function routeUnder(graph: Graph, themes: ThemeRisk[]) {
  const map = { name: DEMO.mapName, graph }
  const points = asked([DEMO.start, DEMO.goal])
  const state = createSearchState(graph.nodeCount)
  const searchWith = (weights: Parameters<typeof createDijkstraSearch>[1]) =>
    createDijkstraSearch(graph, weights, state)
  const text = routeTextNow({
    points,
    snaps: snapPoints(map, points, 1000),
    profile: createProfile(graph, themes),
    searchWith,
  })
  const answer = JSON.parse(text) as RouteAnswer
  const { features } = answer.geojson as { features: { geometry: { coordinates: Position[] } }[] }
  const line: Geometry = {
    type: 'LineString',
    coordinates: features.flatMap(({ geometry }) => geometry.coordinates),
  }
  const isWet = DEMO.floods.some((flood) => prepareArea(flood).intersectsGeometry(line))
  return { isWet, timeMin: answer.time * 60, maxRisk: answer.max_risk }
}

t.test('demo town: the short way crosses the flood, the careful one does not', async (t) => {
  const graph = await graphOf(writeDemoTown())
  const cells = createCellSet()
  for (const flood of DEMO.floods) addCell(cells, flood, 10)
  const sensitivity = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]
  const free = routeUnder(graph, [])
  const careful = routeUnder(graph, [{ overlay: buildOverlay(graph, cells), sensitivity }])
  t.match(free, { isWet: true, maxRisk: 0 })
  t.match(careful, { isWet: false, maxRisk: 0 })
  t.ok(careful.timeMin > free.timeMin + 2, `${free.timeMin} minutes, ${careful.timeMin} the careful way`)
  t.ok(careful.timeMin < 30, 'and worth the way')
})

t.test('demo town: a map with every special case, all of it reachable', async (t) => {
  const graph = await graphOf(writeDemoTown(), { attribution: DEMO.attribution, licence: DEMO.licence })
  t.same(verifyGraph(graph), [])
  t.match(graph.meta, { attribution: DEMO.attribution, licence: DEMO.licence })
  t.equal(graph.meta.counts.restrictionsUsed, 3)
  const isMain = (link: number) => (graph.linkFlags[link]! & LINK_FLAG.MAIN) !== 0
  t.ok([...graph.linkSpeed.keys()].every((link) => graph.linkSpeed[link] === 0 || isMain(link)))
  t.ok(graph.segmentCount > 500, `${graph.segmentCount} segments`)
  const flags = graph.linkFlags.reduce((all, flag) => all | flag, 0)
  const allFlags = Object.values(LINK_FLAG).reduce((all, flag) => all | flag, 0)
  t.equal(flags, allFlags & ~LINK_FLAG.ENCLOSED, 'its only private road has one door')
  const names = new Set(Array.from({ length: graph.segmentCount }, (_, segment) => nameOf(graph, segment)))
  for (const name of [
    '本町通り',
    '桜橋 Old Bridge',
    '東大橋 East Bridge',
    '環状線 Ring Road',
    'Market Row',
  ]) {
    t.ok(names.has(name), name)
  }
  const [west, south, east, north] = DEMO.bbox
  const [w, s, e, n] = graph.meta.bbox
  t.ok(w > west && s > south && e < east && n < north, 'inside the box that the extract tells')
})

t.test('demo town: the same bytes every time', async (t) => {
  t.equal(Buffer.compare(writeDemoTown(), writeDemoTown()), 0)
})

t.test('demo town: osmium reads it', { skip: missing('osmium') }, async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-town-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = path.join(dir, DEMO.extractName)
  writeFileSync(file, writeDemoTown())
  const info = spawnSync('osmium', ['fileinfo', '-e', '-j', file], { encoding: 'utf8' })
  t.equal(info.status, 0, info.stderr)
  const { header, data } = JSON.parse(info.stdout)
  t.match(header, { option: { pbf_dense_nodes: 'true', sorting: 'Type_then_ID' } })
  t.match(data, { objects_ordered: true, multiple_versions: false, count: { relations: 3 } })
  t.equal(spawnSync('osmium', ['check-refs', file]).status, 0, 'no way lacks a node')
})
