import { sharedBuffer } from '../graph/shared-memory.js'
import type { Topology } from '../graph/topology.js'
import { ROOT } from './tree.js'

/**
 * Arcs that exist when the nodes of a graph are contracted in a given order, whatever the weights.
 *
 * Nodes are identified by **rank**, their position in the order. An arc of the hierarchy joins a rank to a
 * higher one and represents both directions: *up* to the higher rank, *down* to the lower. All ranks that a
 * rank is joined to lie on its path to the root of the elimination tree, so an arc gives its upper end by
 * **depth** in that tree: two bytes instead of four, and the labels of a search fit an array as long as the
 * tree is deep.
 *
 * Ranks are in post-order: the subtree of a rank is the range of ranks right below it.
 */
export interface Hierarchy {
  readonly nodeCount: number
  readonly arcCount: number
  /** largest depth + 1 */
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
  /** lower ranks that arcs of the graph join each rank to, each once */
  readonly lower: Uint32Array
  /** rank → its first entry in `inputArc`; `nodeCount + 1` entries */
  readonly firstInput: Uint32Array
  /** arcs of the graph between each rank and higher ones, without loops */
  readonly inputArc: Uint32Array
  /** entry of `inputArc` → position among the rank's arcs of the hierarchy * 2, + 1 when it leads down */
  readonly inputSlot: Uint16Array
}

/** What a customisation reads of a hierarchy. Its arrays are shared memory, which threads need not copy. */
export type Contraction = Omit<Hierarchy, 'rank'>

/**
 * Largest depth: a position among the arcs of a rank, doubled, fits 16 bits. Road networks have depths of
 * some hundreds.
 */
const MAX_DEPTH = 0x7fff
/**
 * Most arcs for each node; road networks have some 4. An order that needs more is damaged and would fill the
 * memory.
 */
const MAX_ARCS_PER_NODE = 64
const MAX_SPARE_ARCS = 1_000_000

/**
 * Builds the hierarchy of an order by symbolic factorisation, in two passes. Some 60 ns an arc of the result.
 *
 * @param rank node → rank, of `rankNodes`; kept
 * @throws Error when the ranks are not a permutation or not in post-order, or when they need too many arcs
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

/** Returns the depth of a rank in the elimination tree; a root has depth 0. */
export function depthOf({ first, headDepth }: Hierarchy, rank: number): number {
  return first[rank] === first[rank + 1] ? 0 : headDepth[first[rank]!]! + 1
}

/**
 * Finds the arc of a rank whose upper end has a given depth, by binary search.
 *
 * @param low first arc of the search: `first[rank]`, or a later one that is known to come before
 * @returns -1 when there is none
 */
export function findArc(hierarchy: Hierarchy, rank: number, depth: number, low: number): number {
  const { first, headDepth } = hierarchy
  let begin = low
  let end = first[rank + 1]! - 1
  while (begin <= end) {
    // depths descend: a depth that is too large lies before the arc wanted
    const middle = (begin + end) >>> 1
    const found = headDepth[middle]!
    if (found === depth) return middle
    if (found > depth) begin = middle + 1
    else end = middle - 1
  }
  return -1
}

/** Returns the bytes of the arrays, including `rank`, a view of the map file. */
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
      throw new Error(`node ${node} has rank ${at}, which is out of range or already taken`)
    }
    isTaken[at] = 1
  }
}

/** Arcs of the graph grouped by their higher rank. */
interface Rows {
  /** rank → its first entry */
  readonly first: Uint32Array
  /** entry → lower rank */
  readonly lower: Uint32Array
  /** entry → arc of the graph * 2, + 1 when it leads down */
  readonly code: Uint32Array
}

/** Groups the arcs of the graph by their higher rank; loops are left out. */
function lowerEnds({ nodeCount, firstOut, head }: Topology, rank: Uint32Array): Rows {
  const first = new Uint32Array(nodeCount + 1)
  for (let node = 0; node < nodeCount; node++) {
    const from = rank[node]!
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const to = rank[head[arc]!]!
      // counts one place behind, turned into first positions by the prefix sums below
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
 * First pass: computes the parents and the number of arcs of each rank. Contraction joins to x all ranks on
 * the tree paths from its lower neighbours up to x.
 */
function countArcs(nodeCount: number, rows: Rows): { parent: Int32Array; first: Uint32Array } {
  const parent = shared(Int32Array, nodeCount).fill(ROOT)
  const first = shared(Uint32Array, nodeCount + 1)
  const seenBy = new Int32Array(nodeCount).fill(-1)
  // checked once a rank: one rank adds at most `nodeCount` arcs, which only counts and takes no memory
  const maxArcs = nodeCount * MAX_ARCS_PER_NODE + MAX_SPARE_ARCS
  let arcCount = 0
  for (let x = 0; x < nodeCount; x++) {
    seenBy[x] = x
    for (let at = rows.first[x]!, end = rows.first[x + 1]!; at < end; at++) {
      let v = rows.lower[at]!
      // up the tree until a rank that x has visited: everything above it was visited too
      while (seenBy[v] !== x) {
        seenBy[v] = x
        if (parent[v] === ROOT) parent[v] = x
        first[v + 1]!++
        arcCount++
        v = parent[v]!
      }
    }
    if (arcCount > maxArcs) throw new Error(`the ranks need more than ${maxArcs} arcs for ${nodeCount} nodes`)
  }
  for (let v = 0; v < nodeCount; v++) first[v + 1]! += first[v]!
  return { parent, first }
}

/** @throws Error when the subtree of some rank is not the range of ranks right below it */
function checkPostOrder(parent: Int32Array): void {
  const nodeCount = parent.length
  const size = new Uint32Array(nodeCount).fill(1)
  const lowest = new Uint32Array(nodeCount).fill(nodeCount)
  for (let v = 0; v < nodeCount; v++) {
    if (lowest[v]! > v) lowest[v] = v
    // parents come after children, so size and lowest rank of a subtree are complete when v is reached
    if (lowest[v] !== v - size[v]! + 1) throw new Error(`the ranks are not in post-order at ${v}`)
    const above = parent[v]!
    if (above === ROOT) continue
    size[above]! += size[v]!
    if (lowest[v]! < lowest[above]!) lowest[above] = lowest[v]!
  }
}

/** Returns rank → depth. @throws Error when the tree is deeper than `MAX_DEPTH` */
function depths(parent: Int32Array): Uint16Array {
  const depth = new Uint16Array(parent.length)
  // descending: the depth of a parent is known before those of its children
  for (let v = parent.length - 1; v >= 0; v--) {
    const above = parent[v]!
    if (above === ROOT) continue
    if (depth[above] === MAX_DEPTH) throw new Error(`the elimination tree is deeper than ${MAX_DEPTH}`)
    depth[v] = depth[above]! + 1
  }
  return depth
}

/** Second pass: fills the arcs. Upper ends come in ascending rank, so the arcs of each rank are sorted. */
function fillArcs(rows: Rows, parent: Int32Array, first: Uint32Array, depth: Uint16Array) {
  const nodeCount = parent.length
  const headDepth = shared(Uint16Array, first[nodeCount]!)
  const firstInput = countInputs(nodeCount, rows.lower)
  const inputArc = shared(Uint32Array, rows.lower.length)
  const inputSlot = shared(Uint16Array, rows.lower.length)
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
        headDepth[free[v]!++] = xDepth // the next arc of v leads to x
      }
      const code = rows.code[at]!
      // the arc of `lowest` to x was added to it last: by this entry, or by an earlier one of the same x
      const input = freeInput[lowest]!++
      inputArc[input] = code >>> 1
      inputSlot[input] = (free[lowest]! - 1 - first[lowest]!) * 2 + (code & 1)
    }
  }
  return { headDepth, firstInput, inputArc, inputSlot }
}

/** Returns rank → its first entry in `inputArc`. */
function countInputs(nodeCount: number, lower: Uint32Array): Uint32Array {
  const first = shared(Uint32Array, nodeCount + 1)
  for (let i = 0; i < lower.length; i++) first[lower[i]! + 1]!++
  for (let v = 0; v < nodeCount; v++) first[v + 1]! += first[v]!
  return first
}

/** Removes duplicates from the lower ranks, which two directions and parallel arcs cause. */
function distinctLower({ first, lower }: Rows): { firstLower: Uint32Array; lower: Uint32Array } {
  const nodeCount = first.length - 1
  const firstLower = shared(Uint32Array, nodeCount + 1)
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
  const distinct = shared(Uint32Array, count)
  distinct.set(lower.subarray(0, count))
  return { firstLower, lower: distinct }
}

/** Creates an array of zeros in shared memory. */
function shared<A extends Int32Array | Uint32Array | Uint16Array>(
  type: { new (buffer: SharedArrayBuffer): A; readonly BYTES_PER_ELEMENT: number },
  length: number,
): A {
  return new type(sharedBuffer(length * type.BYTES_PER_ELEMENT))
}
