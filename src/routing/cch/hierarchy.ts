import type { Topology } from '../graph/topology.js'
import { ROOT } from './tree.js'

/**
 * The arcs that remain when the nodes of a graph are contracted in an order, whatever arcs cost.
 *
 * Nodes are known by **rank**, their place in the order. An arc joins a rank to one above it and stands for both
 * directions: *up* towards the higher rank, *down* towards the lower. All that a rank is joined to lies on its
 * way to the root of the elimination tree, so an arc names its upper end by **depth** in that tree: two bytes instead of
 * four, and the labels of a search fit an array as long as the tree is deep.
 *
 * Ranks are in post-order: the subtree of a rank stands right below it without gaps.
 */
export interface Hierarchy {
  readonly nodeCount: number
  readonly arcCount: number
  /** one more than the largest depth */
  readonly depthCount: number
  /** node of the graph → rank */
  readonly rank: Uint32Array
  /** rank → rank of its parent, `ROOT` = none */
  readonly parent: Int32Array
  /** rank → its first arc; `nodeCount + 1` entries */
  readonly first: Uint32Array
  /** arc → depth of its upper end; the arcs of a rank are sorted from the deepest, its parent, to the root */
  readonly headDepth: Uint16Array
  /** rank → its first entry in `lower`; `nodeCount + 1` entries */
  readonly firstLower: Uint32Array
  /** the lower ranks that an arc of the graph joins each rank to, each once */
  readonly lower: Uint32Array
  /** rank → its first entry in `inputArc`; `nodeCount + 1` entries */
  readonly firstInput: Uint32Array
  /** the arcs of the graph between each rank and higher ones, loops left out */
  readonly inputArc: Uint32Array
  /** the same → place among the rank's arcs, times 2, plus 1 when it leads down */
  readonly inputSlot: Uint16Array
}

/** So that a place among the arcs of a rank, doubled, fits 16 bits. Road networks have depths of some hundreds. */
const MAX_DEPTH = 0x7fff
/** A road network has some 4 arcs a node: an order that needs 64 is none, and would eat all memory. */
const MAX_ARCS_PER_NODE = 64
const MAX_SPARE_ARCS = 1_000_000

/**
 * Builds the hierarchy of an order, in two walks over the rows of the factor that it makes of the graph. Some
 * 60 ns an arc of the result.
 *
 * @param rank of `rankNodes`; kept
 * @throws Error when the ranks are no permutation, not in post-order, or join far too much
 * @see J. Dibbelt, B. Strasser, D. Wagner, "Customizable contraction hierarchies", 2014
 */
export function buildHierarchy(roads: Topology, rank: Uint32Array): Hierarchy {
  const { nodeCount } = roads
  checkPermutation(rank, nodeCount)
  const rows = lowerEnds(roads, rank)
  const { parent, first } = countArcs(nodeCount, rows)
  checkPostOrder(parent)
  const depth = depths(parent)
  let deepest = -1
  for (let v = 0; v < nodeCount; v++) deepest = Math.max(deepest, depth[v]!)
  return {
    nodeCount,
    arcCount: first[nodeCount]!,
    depthCount: deepest + 1,
    rank,
    parent,
    first,
    ...fillArcs(rows, parent, first, depth),
    ...distinctLower(rows),
  }
}

/** Depth of a rank in the elimination tree; a root has depth 0. */
export function depthOf({ first, headDepth }: Hierarchy, rank: number): number {
  return first[rank] === first[rank + 1] ? 0 : headDepth[first[rank]!]! + 1
}

/** The arc of a rank whose upper end has a depth, from `low` on; -1 when there is none. */
export function findArc(hierarchy: Hierarchy, rank: number, depth: number, low: number): number {
  const { first, headDepth } = hierarchy
  let begin = low
  let end = first[rank + 1]! - 1
  while (begin <= end) {
    const middle = (begin + end) >>> 1
    const found = headDepth[middle]!
    if (found === depth) return middle
    if (found > depth) begin = middle + 1
    else end = middle - 1
  }
  return -1
}

/** Bytes of the arrays, those of the map file included. */
export function hierarchyBytes(hierarchy: Hierarchy): number {
  return Object.values(hierarchy).reduce<number>(
    (sum, value) => (ArrayBuffer.isView(value) ? sum + value.byteLength : sum),
    0,
  )
}

function checkPermutation(rank: Uint32Array, nodeCount: number): void {
  if (rank.length !== nodeCount) throw new Error(`${rank.length} nodes have ranks, expected ${nodeCount}`)
  const isTaken = new Uint8Array(nodeCount)
  for (let node = 0; node < nodeCount; node++) {
    const at = rank[node]!
    if (at >= nodeCount || isTaken[at] === 1) {
      throw new Error(`node ${node} has rank ${at}, which is out of range or there twice`)
    }
    isTaken[at] = 1
  }
}

/** The arcs of the graph as each rank sees those that join it to lower ones. */
interface Rows {
  readonly first: Uint32Array
  readonly lower: Uint32Array
  /** `arc of the graph * 2`, plus 1 when it leads down */
  readonly code: Uint32Array
}

function lowerEnds({ nodeCount, firstOut, head }: Topology, rank: Uint32Array): Rows {
  const first = new Uint32Array(nodeCount + 1)
  for (let node = 0; node < nodeCount; node++) {
    const from = rank[node]!
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const to = rank[head[arc]!]!
      if (from !== to) first[Math.max(from, to) + 1]!++
    }
  }
  for (let i = 0; i < nodeCount; i++) first[i + 1]! += first[i]!
  const lower = new Uint32Array(first[nodeCount]!)
  const code = new Uint32Array(first[nodeCount]!)
  const free = first.slice()
  for (let node = 0; node < nodeCount; node++) {
    const from = rank[node]!
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const to = rank[head[arc]!]!
      if (from === to) continue
      const isUp = from < to
      const place = free[isUp ? to : from]!++
      lower[place] = isUp ? from : to
      code[place] = arc * 2 + (isUp ? 0 : 1)
    }
  }
  return { first, lower, code }
}

/**
 * The first walk: parents, and how many arcs each rank gets. From each lower end that the graph gives, the ranks up the
 * tree are those that contraction joins to x.
 */
function countArcs(nodeCount: number, rows: Rows): { parent: Int32Array; first: Uint32Array } {
  const parent = new Int32Array(nodeCount).fill(ROOT)
  const first = new Uint32Array(nodeCount + 1)
  const seenBy = new Int32Array(nodeCount).fill(-1)
  const maxArcs = nodeCount * MAX_ARCS_PER_NODE + MAX_SPARE_ARCS
  let arcCount = 0
  for (let x = 0; x < nodeCount; x++) {
    seenBy[x] = x
    for (let at = rows.first[x]!, end = rows.first[x + 1]!; at < end; at++) {
      let v = rows.lower[at]!
      while (seenBy[v] !== x) {
        seenBy[v] = x
        if (parent[v] === ROOT) parent[v] = x
        first[v + 1]!++
        arcCount++
        v = parent[v]!
      }
    }
    if (arcCount > maxArcs) throw new Error(`the ranks join more than ${maxArcs} pairs of ${nodeCount} nodes`)
  }
  for (let v = 0; v < nodeCount; v++) first[v + 1]! += first[v]!
  return { parent, first }
}

function checkPostOrder(parent: Int32Array): void {
  const nodeCount = parent.length
  const size = new Uint32Array(nodeCount).fill(1)
  const lowest = new Uint32Array(nodeCount).fill(nodeCount)
  for (let v = 0; v < nodeCount; v++) {
    if (lowest[v]! > v) lowest[v] = v
    if (lowest[v] !== v - size[v]! + 1) throw new Error(`the ranks are not in post-order at ${v}`)
    const above = parent[v]!
    if (above === ROOT) continue
    size[above]! += size[v]!
    if (lowest[v]! < lowest[above]!) lowest[above] = lowest[v]!
  }
}

function depths(parent: Int32Array): Uint16Array {
  const depth = new Uint16Array(parent.length)
  for (let v = parent.length - 1; v >= 0; v--) {
    const above = parent[v]!
    if (above === ROOT) continue
    if (depth[above] === MAX_DEPTH) throw new Error(`the ranks make a tree deeper than ${MAX_DEPTH}`)
    depth[v] = depth[above]! + 1
  }
  return depth
}

/** The second walk: as upper ends come in ascending rank, the arcs of each rank are sorted by themselves. */
function fillArcs(rows: Rows, parent: Int32Array, first: Uint32Array, depth: Uint16Array) {
  const nodeCount = parent.length
  const headDepth = new Uint16Array(first[nodeCount]!)
  const firstInput = countInputs(nodeCount, rows.lower)
  const inputArc = new Uint32Array(rows.lower.length)
  const inputSlot = new Uint16Array(rows.lower.length)
  const free = first.slice()
  const freeInput = firstInput.slice()
  const seenBy = new Int32Array(nodeCount).fill(-1)
  for (let x = 0; x < nodeCount; x++) {
    const xDepth = depth[x]!
    seenBy[x] = x
    for (let at = rows.first[x]!, end = rows.first[x + 1]!; at < end; at++) {
      const lowest = rows.lower[at]!
      for (let v = lowest; seenBy[v] !== x; v = parent[v]!) {
        seenBy[v] = x
        headDepth[free[v]!++] = xDepth
      }
      const code = rows.code[at]!
      const input = freeInput[lowest]!++
      inputArc[input] = code >>> 1
      inputSlot[input] = (free[lowest]! - 1 - first[lowest]!) * 2 + (code & 1)
    }
  }
  return { headDepth, firstInput, inputArc, inputSlot }
}

function countInputs(nodeCount: number, lower: Uint32Array): Uint32Array {
  const first = new Uint32Array(nodeCount + 1)
  for (let i = 0; i < lower.length; i++) first[lower[i]! + 1]!++
  for (let v = 0; v < nodeCount; v++) first[v + 1]! += first[v]!
  return first
}

/** Two directions and parallel arcs name the same lower rank several times: once is enough from here on. */
function distinctLower({ first, lower }: Rows): { firstLower: Uint32Array; lower: Uint32Array } {
  const nodeCount = first.length - 1
  const firstLower = new Uint32Array(nodeCount + 1)
  const seenBy = new Int32Array(nodeCount).fill(-1)
  let count = 0
  for (let x = 0; x < nodeCount; x++) {
    for (let at = first[x]!, end = first[x + 1]!; at < end; at++) {
      const v = lower[at]!
      if (seenBy[v] === x) continue
      seenBy[v] = x
      lower[count++] = v
    }
    firstLower[x + 1] = count
  }
  return { firstLower, lower: lower.slice(0, count) }
}
