import {
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import Flatbush from 'flatbush'
import t, { type Test } from 'tap'
import { loadGraphFile as loadAny } from '../../src/files/graph-file-loader.js'
import { writeGraph, writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { createFlatLine, readFlatLine } from '../../src/routing/graph/flat-line.js'
import { readLine } from '../../src/routing/graph/geometry.js'
import type { Graph, GraphInMemory } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { verifyGraph } from '../../src/routing/graph/graph-verify.js'
import { nearestJunction } from '../../src/routing/graph/nearest-junction.js'
import { bytesOfStored, isPaged, numberAt } from '../../src/routing/graph/paged.js'
import { findSegments, segmentIndex } from '../../src/routing/graph/segment-index.js'
import { readNotes, readString } from '../../src/routing/graph/strings.js'
import { makeGraph } from '../support/make-graph.js'
import { createRandom } from '../support/random.js'
import { missingPorto, portoGraph } from '../support/real-map.js'
import { throwsWith } from '../support/throws.js'
import { town } from '../support/town.js'

/** Loads a map that is read by pages: those of the tests are small. */
const loadGraphFile = (file: string, cacheBytes = 1) => loadAny(file, undefined, cacheBytes)

/** Returns the file of a descriptor; undefined for one that is closed by now. */
function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return undefined
  }
}

function fileOf(t: Test, graph: Graph): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-map-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = path.join(dir, 'x.graph')
  writeGraphFile(file, graph)
  return file
}

/** What answers read of a graph besides the arrays of the search. */
function answersOf(graph: Graph, segment: number): unknown {
  const line: number[] = []
  readLine(graph, segment, line)
  const flat = createFlatLine()
  readFlatLine(graph, segment, flat)
  const [lng, lat] = [line[0]! / 1e7 + 0.0003, line[1]! / 1e7]
  return {
    line: [...line],
    flat: [...flat.xy.subarray(0, flat.corners * 2)],
    name: readString(graph, numberAt(graph.segmentName, segment)),
    notes: [segment * 2, segment * 2 + 1].map((link) => readNotes(graph, link)),
    junction: nearestJunction(graph, lng, lat),
    near: findSegments(segmentIndex(graph), [
      line[0]! - 9000,
      line[1]! - 9000,
      line[0]! + 9000,
      line[1]! + 9000,
    ]).sort((a, b) => a - b),
  }
}

function flatbushOf(graph: GraphInMemory): Flatbush {
  const { buffer, byteOffset, byteLength } = graph.segmentIndex
  return Flatbush.from(buffer.slice(byteOffset, byteOffset + byteLength))
}

t.test('loadGraphFile: a town answers from its file as from memory', async (t) => {
  const graph = makeGraph(town(6))
  const loaded = loadGraphFile(fileOf(t, graph))
  t.ok(isPaged(loaded.geometry))
  for (let segment = 0; segment < graph.segmentCount; segment++)
    t.same(answersOf(loaded, segment), answersOf(graph, segment))
  t.same(verifyGraph(loaded), [])
  t.same(Buffer.from(writeGraph(loaded)), Buffer.from(writeGraph(graph)))
})

t.test('loadGraphFile: a city answers from its file as from memory', { skip: missingPorto }, async (t) => {
  const graph = readGraph(writeGraph(await portoGraph()).buffer, crc32)
  const loaded = loadGraphFile(fileOf(t, graph), 256 * 1024)
  t.ok(isPaged(loaded.segmentIndex))
  const random = createRandom(7)
  const flatbush = flatbushOf(graph)
  for (let i = 0; i < 3000; i++) {
    const segment = Math.floor(random() * graph.segmentCount)
    t.same(answersOf(loaded, segment), answersOf(graph, segment))
    const [x, y] = [graph.junctionLngE7[segment % 50_000]!, graph.junctionLatE7[segment % 50_000]!]
    const reach = Math.floor(random() * 40_000)
    const box = [x - reach, y - reach, x + reach, y + reach] as const
    const found = findSegments(segmentIndex(loaded), box).sort((a, b) => a - b)
    t.same(
      found,
      flatbush.search(...box).sort((a, b) => a - b),
    )
  }
  t.same(verifyGraph(loaded), [])
})

t.test(
  'loadGraphFile: a map whose sections fit the cache stays in memory, and its file is closed',
  async (t) => {
    const graph = makeGraph(town(6))
    const file = fileOf(t, graph)
    const opened = () => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd) === file)
    const loaded = loadAny(file)
    t.notOk(isPaged(loaded.geometry))
    t.same(opened(), [])
    truncateSync(file, 0)
    t.same(answersOf(loaded, 3), answersOf(graph, 3))
  },
)

t.test('loadGraphFile: a file that another replaces is still read', async (t) => {
  const graph = makeGraph(town(6))
  const file = fileOf(t, graph)
  const loaded = loadGraphFile(file)
  writeFileSync(`${file}.new`, 'another file')
  renameSync(`${file}.new`, file)
  t.same(answersOf(loaded, 3), answersOf(graph, 3))
  t.same(bytesOfStored(loaded.geometry), bytesOfStored(graph.geometry))
})

t.test('loadGraphFile: UNKNOWN_MAP when the file becomes shorter, or is written in place', async (t) => {
  const graph = makeGraph(town(6))
  const file = fileOf(t, graph)
  const changed = loadGraphFile(file)
  const { geometry } = changed
  if (!isPaged(geometry)) throw new Error('the geometry is in memory')
  const fd = openSync(file, 'r+')
  writeSync(fd, Uint8Array.of(bytesOfStored(graph.geometry)[0]! ^ 1), 0, 1, geometry.offset)
  const { message, data } = throwsWith(t, () => answersOf(changed, 0), 'UNKNOWN_MAP')
  t.match(message, /"x" cannot be read any more: x\.graph was changed while it was open, at byte \d+/)
  t.same(data, { map: 'x' })
  const fresh = fileOf(t, graph)
  const cut = loadGraphFile(fresh)
  truncateSync(fresh, 100)
  t.match(
    throwsWith(t, () => answersOf(cut, 0), 'UNKNOWN_MAP').message,
    /: x\.graph became shorter while it was open: found 100 bytes, expected at least \d+/,
  )
})
