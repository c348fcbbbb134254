import t from 'tap'
import {
  type Customisation,
  finish,
  kernelsOf,
  startCustomisation,
} from '../../../src/routing/cch/customise.js'
import { buildHierarchy, type Hierarchy } from '../../../src/routing/cch/hierarchy.js'
import { KINDS, type Kind, type Metric } from '../../../src/routing/cch/metric.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { cutRanks } from '../../../src/routing/cch/pieces.js'
import {
  customisePieces,
  type Helpers,
  type SharedRun,
  startShared,
} from '../../../src/routing/cch/shared-customise.js'
import { gridGraph, type PlainGraph, seeded } from '../../support/random-graph.js'

const GRAPH = gridGraph(60, 40, seeded(5))
const HIERARCHY = buildHierarchy(GRAPH, rankNodes(GRAPH, GRAPH.sites))

t.test('cutRanks: each rank is in one piece or above all of them, and a piece is whole subtrees', (t) => {
  const { ranges, top } = cutRanks(HIERARCHY)
  const pieceOf = new Int32Array(HIERARCHY.nodeCount).fill(-2)
  const fill = (list: Int32Array, name: (i: number) => number) => {
    for (let i = 0; i < list.length; i += 2)
      for (let v = list[i]!; v < list[i + 1]!; v++) {
        pieceOf[v] = pieceOf[v] === -2 ? name(i) : -3 // -3: twice
      }
  }
  fill(ranges, (i) => i)
  fill(top, () => -1)
  t.ok(ranges.length / 2 > 8, `${ranges.length / 2} pieces`)
  t.same(
    [...top],
    [...top].sort((a, b) => a - b),
  )
  const faults: number[] = []
  for (let v = 0; v < HIERARCHY.nodeCount; v++) {
    const parent = HIERARCHY.parent[v]!
    const above = parent < 0 ? -1 : pieceOf[parent]
    if (pieceOf[v]! < -1 || (above !== -1 && above !== pieceOf[v])) faults.push(v)
  }
  t.same(faults, [])
  t.end()
})

t.test('startShared: none where the hierarchy is not worth the start of a thread, or none is free', (t) => {
  const { triangles } = cutRanks(HIERARCHY)
  const helpers = { isFree: () => true, minTriangles: triangles + 1, silenceMs: 0, offer: () => t.fail() }
  t.equal(startShared(HIERARCHY, GRAPH.weights, 'int32', helpers), undefined)
  const busy = { ...helpers, minTriangles: 0, isFree: () => false }
  t.equal(startShared(HIERARCHY, GRAPH.weights, 'int32', busy), undefined)
  t.end()
})

t.test('startShared: whoever takes a piece, and whenever, the metric is that of one thread', (t) => {
  for (const kind of KINDS) {
    const expected = finish(startCustomisation(HIERARCHY, GRAPH.weights, kind))
    for (const helpAfter of [0, 1, 3, 20, Number.POSITIVE_INFINITY]) {
      const runs: SharedRun[] = []
      const job = begin(GRAPH, HIERARCHY, kind, (run) => runs.push(run))
      let steps = 0
      while (!job.advance(500)) if (steps++ === helpAfter) for (const run of runs) customisePieces(run)
      t.ok(steps > 20, `${steps} steps`)
      t.ok(isSame(job.metric, expected), `${kind}, help after ${helpAfter} steps`)
      t.equal(job.metric.kind, kind)
    }
    t.notSame([...expected.up.slice(0, 50)], [...kernelsOf(kind).createValues(50)])
  }
  t.end()
})

t.test('startShared: a thread that is lost, or silent, leaves a metric that this one makes alone', (t) => {
  const expected = finish(startCustomisation(HIERARCHY, GRAPH.weights, 'int32'))
  let lose = (): void => undefined
  const takeOne = ({ control }: SharedRun, onLost?: () => void) => {
    Atomics.add(control, 0, 1) // a piece that it never completes
    if (onLost !== undefined) lose = onLost
  }
  const lost = begin(GRAPH, HIERARCHY, 'int32', takeOne, 60_000)
  t.notOk(Array.from({ length: 2000 }, () => lost.advance(1000)).some(Boolean), 'it waits')
  lose()
  runToEnd(lost)
  const complete = begin(GRAPH, HIERARCHY, 'int32', (_, onLost) => {
    lose = onLost
  })
  runToEnd(complete)
  lose()
  t.ok(isSame(complete.metric, expected) && complete.advance(1), 'lost after its end: nothing begins anew')
  t.ok(isSame(lost.metric, expected), 'lost')
  const silent = begin(GRAPH, HIERARCHY, 'int32', (run) => takeOne(run))
  runToEnd(silent)
  t.ok(isSame(silent.metric, expected), 'silent, in slices')
  t.ok(isSame(finish(begin(GRAPH, HIERARCHY, 'int32', (run) => takeOne(run))), expected), 'silent, at once')
  t.end()
})

function begin(graph: PlainGraph, hierarchy: Hierarchy, kind: Kind, offer: Helpers['offer'], silenceMs = 20) {
  const helpers = { minTriangles: 0, silenceMs, isFree: () => true, offer }
  const job = startShared(hierarchy, graph.weights, kind, helpers)
  if (job === undefined) throw new Error('it was not shared')
  return job
}

function runToEnd(job: Customisation): void {
  let isDone = false
  while (!isDone) isDone = job.advance(1000)
}

function isSame(a: Metric, b: Metric): boolean {
  return (['up', 'down'] as const).every((way) => Buffer.compare(bytesOf(a[way]), bytesOf(b[way])) === 0)
}

function bytesOf({ buffer, byteOffset, byteLength }: Metric['up']): Buffer {
  return Buffer.from(new Uint8Array(buffer, byteOffset, byteLength))
}
