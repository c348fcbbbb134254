import { crc32 } from 'node:zlib'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { EXTENT, unitX, unitY } from '../../src/tiles/mercator.js'
import { roadTile } from '../../src/tiles/road-tile.js'

const DEEPEST = 16
/** tiles of a zoom that are made; of more, evenly spread ones */
const MOST_TILES = 400

void main(process.argv[2] ?? '')

async function main(input: string): Promise<void> {
  const parts = await buildMap({ input, profile: 'car', country: null, name: 'bench', builtBy: 'bench' })
  const graph = readGraph(writeGraphShared(parts), crc32)
  for (let z = 12; z <= 14; z++) measure(graph, z) // warm
  console.log(`${graph.segmentCount} segments; ms of the first making of a tile`)
  console.log('zoom  tiles  not empty  mean kB  max kB   min ms  mean ms ± dev      p95 ms  max ms')
  for (let z = 0; z <= DEEPEST; z++) console.log(rowOf(z, measure(graph, z)))
}

interface Figures {
  tiles: number
  bytes: number[]
  ms: number[]
}

function measure(graph: Graph, z: number): Figures {
  const [west, south, east, north] = graph.meta.bbox
  const world = { z, x: 0, y: 0 }
  const column = (lng: number) => Math.floor(unitX(lng * 1e7, world) / EXTENT)
  const row = (lat: number) => Math.floor(unitY(lat * 1e7, world) / EXTENT)
  const all: { z: number; x: number; y: number }[] = []
  for (let x = column(west); x <= column(east); x++)
    for (let y = row(north); y <= row(south); y++) all.push({ z, x, y })
  const step = Math.max(1, all.length / MOST_TILES)
  const figures: Figures = { tiles: all.length, bytes: [], ms: [] }
  for (let at = 0; at < all.length; at += step) {
    const tile = all[Math.floor(at)]!
    const startedAt = performance.now()
    const bytes = runToEnd(roadTile(graph, tile))
    if (bytes === undefined) continue
    figures.ms.push(performance.now() - startedAt)
    figures.bytes.push(bytes.length)
  }
  return figures
}

function rowOf(z: number, { tiles, bytes, ms }: Figures): string {
  const sorted = [...ms].sort((a, b) => a - b)
  const mean = (values: number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  const meanMs = mean(ms)
  const deviation = Math.sqrt(mean(ms.map((value) => (value - meanMs) ** 2)))
  const p95 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.95))] ?? 0
  const cells: [string, number][] = [
    [String(z), 4],
    [String(tiles), 7],
    [String(ms.length), 11],
    [(mean(bytes) / 1000).toFixed(1), 9],
    [(Math.max(0, ...bytes) / 1000).toFixed(1), 8],
    [(sorted[0] ?? 0).toFixed(2), 9],
    [`${meanMs.toFixed(2)} ± ${deviation.toFixed(2)}`, 16],
    [p95.toFixed(2), 12],
    [(sorted[sorted.length - 1] ?? 0).toFixed(2), 8],
  ]
  return cells.map(([text, width]) => text.padStart(width)).join('')
}
