import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Cell, createCell, fillCell, markComponents } from '../../../src/routing/cch/cell.js'
import { coverCut, SEPARATOR } from '../../../src/routing/cch/cover.js'
import { maxFlow, SINK, SOURCE, splitByFlow } from '../../../src/routing/cch/min-cut.js'
import { orderByMinDegree } from '../../../src/routing/cch/min-degree.js'
import { type Neighbours, neighboursOf } from '../../../src/routing/cch/neighbours.js'
import { separate } from '../../../src/routing/cch/separator.js'
import { stripLowDegree } from '../../../src/routing/cch/strip.js'
import { gridGraph, type PlainGraph, plainGraph, plainGraphs, seeded } from '../../support/random-graph.js'

/** Node → its neighbours, from the arcs of a graph. */
function adjacency(graph: PlainGraph): Set<number>[] {
  const joined = Array.from({ length: graph.nodeCount }, () => new Set<number>())
  for (let node = 0; node < graph.nodeCount; node++) {
    for (let arc = graph.firstOut[node]!; arc < graph.firstOut[node + 1]!; arc++) {
      const other = graph.head[arc]!
      if (other === node) continue
      joined[node]!.add(other)
      joined[other]!.add(node)
    }
  }
  return joined
}

function listOf({ first, node }: Pick<Neighbours, 'first' | 'node'>, of: number): number[] {
  return [...node.subarray(first[of]!, first[of + 1]!)]
}

const ascending = (values: Iterable<number>) => [...values].sort((a, b) => a - b)

/** The cell of all nodes of a graph, in their order. */
function wholeCell(graph: PlainGraph): Cell {
  const neighbours = neighboursOf(graph)
  const cell = createCell(neighbours)
  const nodes = Uint32Array.from({ length: graph.nodeCount }, (_, node) => node)
  fillCell(cell, neighbours, nodes, nodes, 0, graph.nodeCount)
  return cell
}

/** Edges of a graph, each once. */
function edgesOf(graph: PlainGraph): [number, number][] {
  return adjacency(graph).flatMap((others, node) =>
    [...others].filter((other) => other > node).map((other): [number, number] => [node, other]),
  )
}

/** All subsets of the first `count` nodes, as masks. */
const subsets = (count: number) => Array.from({ length: 2 ** count }, (_, mask) => mask)
const has = (mask: number, node: number) => ((mask >> node) & 1) === 1

t.test('property: neighboursOf lists each neighbour once, ascending', async () => {
  fc.assert(
    fc.property(plainGraphs(20), (graph) => {
      const found = neighboursOf(graph)
      for (const [node, others] of adjacency(graph).entries())
        deepStrictEqual(listOf(found, node), ascending(others))
    }),
  )
})

t.test('property: a cell holds the edges among its nodes, and numbers its components', async () => {
  const cases = plainGraphs(14).chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      nodes: fc.shuffledSubarray(
        Array.from({ length: graph.nodeCount }, (_, node) => node),
        {
          minLength: graph.nodeCount,
        },
      ),
      range: fc.tuple(fc.nat(graph.nodeCount), fc.nat(graph.nodeCount)),
    }),
  )
  fc.assert(
    fc.property(cases, ({ graph, nodes, range }) => {
      const [begin, end] = range.sort((a, b) => a - b) as [number, number]
      const position = new Uint32Array(graph.nodeCount)
      for (const [at, node] of nodes.entries()) position[node] = at
      const neighbours = neighboursOf(graph)
      const cell = createCell(neighbours)
      fillCell(cell, neighbours, Uint32Array.from(nodes), position, begin, end)
      const joined = adjacency(graph)
      const count = end - begin
      deepStrictEqual(cell.nodeCount, count)
      const listed: number[][] = []
      for (let local = 0; local < count; local++) {
        const inside = [...joined[nodes[begin + local]!]!].map((node) => position[node]! - begin)
        const expected = ascending(inside.filter((other) => other >= 0 && other < count))
        listed.push(expected)
        deepStrictEqual(ascending(cell.head.subarray(cell.first[local]!, cell.first[local + 1]!)), expected)
        for (let arc = cell.first[local]!; arc < cell.first[local + 1]!; arc++) {
          const back = cell.reverse[arc]!
          deepStrictEqual([cell.head[back], cell.reverse[back]], [local, arc])
        }
      }
      const labels: number[] = []
      let components = 0
      for (let seed = 0; seed < count; seed++) {
        if (labels[seed] !== undefined) continue
        const open = [seed]
        for (const node of open) {
          if (labels[node] !== undefined) continue
          labels[node] = components
          open.push(...listed[node]!)
        }
        components++
      }
      deepStrictEqual(markComponents(cell), components)
      deepStrictEqual([...cell.level.subarray(0, count)], labels)
    }),
  )
})

t.test('property: coverCut takes the fewest nodes that leave no edge between the halves', async () => {
  const cases = plainGraphs(9).chain((graph) =>
    fc.tuple(fc.constant(graph), fc.array(fc.nat(1), { minLength: 9, maxLength: 9 })),
  )
  fc.assert(
    fc.property(cases, ([graph, side]) => {
      const cell = wholeCell(graph)
      cell.side.set(side.slice(0, graph.nodeCount))
      coverCut(cell)
      const cut = edgesOf(graph).filter(([a, b]) => side[a] !== side[b])
      const covers = subsets(graph.nodeCount).filter((mask) =>
        cut.every(([a, b]) => has(mask, a) || has(mask, b)),
      )
      const sizes = covers.map((mask) => mask.toString(2).replaceAll('0', '').length)
      const taken = [...cell.side].filter((value) => value === SEPARATOR).length
      deepStrictEqual(taken, Math.min(...sizes))
      ok(cut.every(([a, b]) => cell.side[a] === SEPARATOR || cell.side[b] === SEPARATOR))
      ok([...cell.side].every((value, node) => value === SEPARATOR || value === side[node]))
    }),
    { numRuns: 300 },
  )
})

t.test(
  'property: maxFlow is the smallest cut between sources and sinks, splitByFlow one of that size',
  async () => {
    const cases = plainGraphs(8).chain((graph) =>
      fc.tuple(
        fc.constant(graph),
        fc.array(fc.constantFrom(0, 0, SOURCE, SINK), { minLength: 8, maxLength: 8 }),
        fc.integer({ min: 1, max: 3 }),
      ),
    )
    fc.assert(
      fc.property(cases, ([graph, ends, limit]) => {
        const cell = wholeCell(graph)
        cell.end.set(ends.slice(0, graph.nodeCount))
        const edges = edgesOf(graph)
        // masks of the side of the sinks
        const cuts = subsets(graph.nodeCount).filter((mask) =>
          Array.from({ length: graph.nodeCount }, (_, node) => node).every(
            (node) => (ends[node] !== SOURCE || !has(mask, node)) && (ends[node] !== SINK || has(mask, node)),
          ),
        )
        const sizeOf = (mask: number) => edges.filter(([a, b]) => has(mask, a) !== has(mask, b)).length
        const smallest = Math.min(...cuts.map(sizeOf))
        deepStrictEqual(maxFlow(cell, Number.POSITIVE_INFINITY), smallest)
        const side = new Uint8Array(graph.nodeCount)
        splitByFlow(cell, side)
        const mask = side.reduce((sum, value, node) => sum + value * 2 ** node, 0)
        ok(cuts.includes(mask), 'sources are on side 0, sinks on side 1')
        deepStrictEqual(sizeOf(mask), smallest)
        deepStrictEqual(maxFlow(cell, limit), Math.min(limit, smallest))
      }),
      { numRuns: 300 },
    )
  },
)

t.test(
  'splitByFlow: the more balanced of two minimum cuts, that near the sources when they are equal',
  async (t) => {
    // a chain of `chain` nodes from source to sink, with further nodes at either end
    const split = (chain: number, atSource: number, atSink: number) => {
      const ends = [...Array(atSource).fill(0), ...Array(atSink).fill(chain - 1)] as number[]
      const edges = [
        ...Array.from({ length: chain - 1 }, (_, node) => [node, node + 1] as const),
        ...ends.map((end, at) => [end, chain + at] as const),
      ]
      const nodeCount = chain + ends.length
      // two more nodes, which the cell lacks: what an earlier cell left there counts for nothing
      const graph = plainGraph(
        nodeCount + 2,
        edges.map(([from, to]) => ({ from, to, ms: 1 })),
      )
      const neighbours = neighboursOf(graph)
      const cell = createCell(neighbours)
      const nodes = Uint32Array.from({ length: nodeCount + 2 }, (_, node) => node)
      fillCell(cell, neighbours, nodes, nodes, 0, nodeCount)
      cell.end.fill(SINK, nodeCount)
      cell.end[0] = SOURCE
      cell.end[chain - 1] = SINK
      t.equal(maxFlow(cell, 9), 1)
      const side = new Uint8Array(nodeCount)
      splitByFlow(cell, side)
      return [...side].join('')
    }
    t.equal(split(5, 0, 0), '01111', 'one node on either side: near the source')
    t.equal(split(5, 1, 1), '0111101')
    t.equal(split(5, 1, 2), '00001011', 'three nodes at the sink, two at the source')
    t.equal(split(5, 2, 1), '01111001')
    t.equal(split(3, 0, 3), '001111', 'four of six nodes leave two: more than one')
    t.equal(split(3, 0, 0), '011')
  },
)

t.test('separate: a grid is cut across by few nodes, each half has a quarter at least', async (t) => {
  const graph = gridGraph(24, 8, () => 0.5)
  const kept = new Uint8Array(graph.nodeCount)
  const nodes = Uint32Array.from({ length: graph.nodeCount }, (_, node) => node)
  const blind = { x: new Float64Array(graph.nodeCount), y: new Float64Array(graph.nodeCount) }
  for (const coordinates of [graph.sites, { x: graph.sites.y, y: graph.sites.x }, blind]) {
    const cell = wholeCell(graph)
    separate({ cell, coordinates, nodes, begin: 0 }, kept)
    const count = (side: number) => cell.side.filter((value) => value === side).length
    t.ok(
      edgesOf(graph).every(([a, b]) => cell.side[a]! + cell.side[b]! !== 1 || cell.side[a] === cell.side[b]),
    )
    t.ok(count(SEPARATOR) <= 8, `${count(SEPARATOR)} nodes between the halves`)
    t.ok(Math.min(count(0), count(1)) >= (24 * 8) / 4 - 8, `halves of ${count(0)} and ${count(1)}`)
  }
})

t.test('property: stripLowDegree leaves what eliminating nodes of degree two or less leaves', async () => {
  fc.assert(
    fc.property(plainGraphs(25), (graph) => {
      const joined = adjacency(graph)
      const order = new Uint32Array(graph.nodeCount)
      const { node, neighbours } = stripLowDegree(neighboursOf(graph), order)
      const eliminated = [...order.subarray(0, graph.nodeCount - node.length)]
      for (const gone of eliminated) {
        const others = [...joined[gone]!]
        ok(others.length <= 2, `node ${gone} has ${others.length} neighbours`)
        for (const other of others) joined[other]!.delete(gone)
        if (others.length === 2) {
          joined[others[0]!]!.add(others[1]!)
          joined[others[1]!]!.add(others[0]!)
        }
      }
      deepStrictEqual(ascending([...eliminated, ...node]), ascending(joined.keys()))
      deepStrictEqual([...node], ascending(node))
      for (const [core, old] of node.entries()) {
        ok(joined[old]!.size > 2, `node ${old} of the core has ${joined[old]!.size} neighbours`)
        deepStrictEqual(
          ascending(listOf(neighbours, core).map((other) => node[other]!)),
          ascending(joined[old]!),
        )
      }
    }),
    { numRuns: 300 },
  )
})

t.test('stripLowDegree: a chain is eliminated every other node a round', async (t) => {
  const random = seeded(4)
  const graph = gridGraph(64, 1, () => 0.2 + random() * 0.1)
  const order = new Uint32Array(64)
  t.equal(stripLowDegree(neighboursOf(graph), order).node.length, 0)
  const firstRound = [...order.subarray(0, 32)]
  t.same(
    firstRound,
    Array.from({ length: 32 }, (_, i) => i * 2),
  )
})

t.test('property: orderByMinDegree takes a node of the lowest degree next', async () => {
  const cases = plainGraphs(16).chain((graph) =>
    fc.tuple(fc.constant(graph), fc.nat(graph.nodeCount), fc.nat(graph.nodeCount)),
  )
  fc.assert(
    fc.property(cases, ([graph, a, b]) => {
      const [begin, end] = [Math.min(a, b), Math.max(a, b)]
      const nodes = Uint32Array.from({ length: graph.nodeCount }, (_, node) => node)
      const order = new Uint32Array(end - begin)
      orderByMinDegree(neighboursOf(graph), nodes, nodes, begin, end, order)
      const joined = adjacency(graph)
      const left = new Set(Array.from({ length: end - begin }, (_, local) => local))
      for (const local of order) {
        const degreeOf = (one: number) => joined[begin + one]!.size
        ok(left.has(local), `node ${local} is listed twice`)
        deepStrictEqual(degreeOf(local), Math.min(...[...left].map(degreeOf)))
        left.delete(local)
        const others = [...joined[begin + local]!]
        for (const other of others) {
          joined[other]!.delete(begin + local)
          for (const third of others) if (third !== other) joined[other]!.add(third)
        }
      }
      deepStrictEqual(left.size, 0)
    }),
    { numRuns: 300 },
  )
})
