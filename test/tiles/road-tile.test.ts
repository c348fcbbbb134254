import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import t from 'tap'
import { readLine } from '../../src/routing/graph/geometry.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { BUFFER, EXTENT, type TileId, unitX, unitY } from '../../src/tiles/mercator.js'
import { ROAD_CLASSES } from '../../src/tiles/road-classes.js'
import { DETAIL_ZOOM, roadTile } from '../../src/tiles/road-tile.js'
import { makeGraph } from '../support/make-graph.js'
import { missingPorto, portoGraph } from '../support/real-map.js'
import { town } from '../support/town.js'

/** The tile of a zoom that holds a place, degrees. */
function tileAt(z: number, lng: number, lat: number): TileId {
  const world = { z, x: 0, y: 0 }
  return {
    z,
    x: Math.floor(unitX(lng * 1e7, world) / EXTENT),
    y: Math.floor(unitY(lat * 1e7, world) / EXTENT),
  }
}

/** What an independent reader finds. */
function read(bytes: Uint8Array) {
  const layer = new VectorTile(new PbfReader(bytes)).layers.roads
  if (layer?.version !== 2 || layer.extent !== EXTENT)
    throw new Error(`the tile has no layer roads: ${layer}`)
  return Array.from({ length: layer.length }, (_, i) => layer.feature(i))
}

function make(graph: Graph, tile: TileId): Uint8Array | undefined {
  return runToEnd(roadTile(graph, tile))
}

/** Distance of a point from a line, tile units. */
function distanceTo(line: readonly number[], px: number, py: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let at = 2; at < line.length; at += 2) {
    const [x0, y0] = [line[at - 2]!, line[at - 1]!]
    const [dx, dy] = [line[at]! - x0, line[at + 1]! - y0]
    const length2 = dx * dx + dy * dy
    const share = length2 === 0 ? 0 : Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / length2))
    least = Math.min(least, Math.hypot(x0 + share * dx - px, y0 + share * dy - py))
  }
  return least
}

/** The line of a segment in tile units, by the test's own way. */
function lineOf(graph: Graph, segment: number, tile: TileId): number[] {
  const line: number[] = []
  readLine(graph, segment, line)
  return line.map((value, i) => (i % 2 === 0 ? unitX(value, tile) : unitY(value, tile)))
}

/** Segments of which some point lies inside the tile itself, and that may be driven. */
function segmentsInside(graph: Graph, tile: TileId): number[] {
  const inside: number[] = []
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    if (graph.linkSpeed[segment * 2]! + graph.linkSpeed[segment * 2 + 1]! === 0) continue
    const line = lineOf(graph, segment, tile)
    const isIn = (i: number) =>
      line[i]! >= 0 && line[i]! <= EXTENT && line[i + 1]! >= 0 && line[i + 1]! <= EXTENT
    const isLong = line.length > 2 && line.some((value, i) => i > 1 && Math.abs(value - line[i % 2]!) >= 1)
    for (let i = 0; i < line.length && isLong; i += 2) {
      if (!isIn(i)) continue
      inside.push(segment)
      break
    }
  }
  return inside
}

t.test('roadTile: at detail zooms each segment has its number, name, speed and line', async (t) => {
  const network = town(3)
  network.roads[0] = { from: 0, to: 1, speed: [90, 0], name: '大通り', isPrivate: true }
  const graph = makeGraph(network)
  const tile = tileAt(DETAIL_ZOOM, 10.002, 50.002)
  const features = read(make(graph, tile) ?? new Uint8Array())
  t.same(
    features.map((feature) => feature.id).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: graph.segmentCount }, (_, i) => i),
  )
  const first = features.find((feature) => feature.id === 0)
  t.same(first?.properties, { class: 'fast', kmh: 90, name: '大通り', oneway: 1, private: true })
  t.equal(first?.type, 2, 'a line')
  for (const feature of features) {
    const wanted = lineOf(graph, Number(feature.id), tile)
    const found = feature.loadGeometry().flat()
    t.ok(Math.hypot(found[0]!.x - wanted[0]!, found[0]!.y - wanted[1]!) < 1, 'begins at its tail')
    t.ok(found.every(({ x, y }) => distanceTo(wanted, x, y) < 1))
  }
})

t.test('roadTile: undefined where no road is', async (t) => {
  const graph = makeGraph(town(3))
  t.equal(make(graph, tileAt(DETAIL_ZOOM, 20, 20)), undefined)
  t.ok(make(graph, { z: 0, x: 0, y: 0 }) === undefined || read(make(graph, { z: 0, x: 0, y: 0 })!).length > 0)
})

t.test('roadTile: a map of slow ways only is drawn at low zooms', async (t) => {
  const network = town(3)
  for (const road of network.roads) road.speed = [5, 5]
  const features = read(make(makeGraph(network), tileAt(12, 10.002, 50.002)) ?? new Uint8Array())
  t.ok(features.length > 0)
  t.same([...new Set(features.map((feature) => feature.properties.class))], ['lane'])
})

t.test(
  'roadTile: the real roads of Porto, each tile compared with the graph',
  { skip: missingPorto },
  async (t) => {
    const graph = await portoGraph()
    const [lng, lat] = [-8.61, 41.15]
    for (const z of [14, 16]) {
      const tile = tileAt(z, lng, lat)
      const features = read(make(graph, tile) ?? new Uint8Array())
      const wanted = segmentsInside(graph, tile)
      const found = new Set(features.map((feature) => Number(feature.id)))
      t.same(
        wanted.filter((segment) => !found.has(segment)),
        [],
        `z${z}: no road is missing`,
      )
      t.ok(wanted.length > 20)
      const astray = features.filter((feature) => {
        const line = lineOf(graph, Number(feature.id), tile)
        return feature
          .loadGeometry()
          .flat()
          .some(({ x, y }) => distanceTo(line, x, y) > 1)
      })
      t.equal(astray.length, 0, `z${z}: every line lies on its segment`)
    }
    for (let z = 0; z < DETAIL_ZOOM; z++) {
      const tile = tileAt(z, lng, lat)
      const bytes = make(graph, tile)
      if (bytes === undefined) continue
      t.ok(bytes.length < 500_000, `z${z}: ${bytes.length} bytes`)
      for (const feature of read(bytes)) {
        t.ok(ROAD_CLASSES.includes(feature.properties.class as (typeof ROAD_CLASSES)[number]))
        const points = feature.loadGeometry().flat()
        if (
          points.some(
            ({ x, y }) =>
              Math.abs(x - EXTENT / 2) > EXTENT / 2 + BUFFER + 8 ||
              Math.abs(y - EXTENT / 2) > EXTENT / 2 + BUFFER + 8,
          )
        )
          t.fail(`z${z}: a point lies beyond the buffer`)
      }
    }
  },
)
