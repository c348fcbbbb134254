import { LINK_FLAG, NO_ARC } from '../../routing/graph/graph.js'
import { fillWith } from '../arrays/fill-with.js'
import { usualOutcome } from '../profile/decision.js'
import type { Expansion } from './expand.js'

/** A directed graph: node → its arcs, and arc → node it leads to. */
export type Directed = Pick<Expansion, 'nodeCount' | 'firstOut' | 'head'>

const UNSEEN = 0xffffffff

/** Size of the main network, for the report. */
interface MainNetwork {
  readonly nodes: number
  readonly arcs: number
}

/**
 * Sets `LINK_FLAG.MAIN` on links from which the main network can be reached and which can be reached from it,
 * so that a point snapped to one of them has routes. The main network is the largest strongly connected
 * component while no condition holds.
 *
 * Cost: linear in nodes and arcs.
 */
export function flagMainNetwork(expansion: Expansion, { linkSpeed, linkFlags }: Links): MainNetwork {
  const { nodeCount, head, linkStartArc, linkFirstArc, linkArcs } = expansion
  const isOpen = openArcs(expansion, linkSpeed)
  const open = withArcs(expansion, isOpen)
  const { component, largest } = findComponents(open)
  const reached = fillWith(new Uint8Array(component.length), (at) => (component[at] === largest ? 1 : 0))
  const reaches = reached.slice()
  spread(reached, open.firstOut, open.head, nodeCount)
  const backwards = reverse(open.head, arcTails(open), nodeCount, open.head.length)
  spread(reaches, backwards.first, backwards.tails, nodeCount)
  const tail = arcTails(expansion)
  for (let link = 0; link < linkFlags.length; link++) {
    const start = linkStartArc[link]!
    if (start === NO_ARC || reaches[head[start]!] === 0) continue
    for (let at = linkFirstArc[link]!; at < linkFirstArc[link + 1]!; at++) {
      const arc = linkArcs[at]!
      if (isOpen[arc] === 0 || reached[tail[arc]!] === 0) continue
      linkFlags[link]! |= LINK_FLAG.MAIN
      break
    }
  }
  return countMain(open, component, largest)
}

/** Speeds and flags of links. */
interface Links {
  readonly linkSpeed: Uint16Array
  readonly linkFlags: Uint8Array
}

/** Arc → 1 where it is open while no condition holds. */
function openArcs({ arcLink, arcBans }: Expansion, linkSpeed: Uint16Array): Uint8Array {
  const isOpen = fillWith(new Uint8Array(arcLink.length), (arc) => (linkSpeed[arcLink[arc]!]! > 0 ? 1 : 0))
  for (const [arc, ban] of arcBans) if (usualOutcome(ban) !== 0) isOpen[arc] = 0
  return isOpen
}

/** Returns a graph with some of its arcs. */
function withArcs({ nodeCount, firstOut, head }: Directed, isKept: Uint8Array): Directed {
  if (!isKept.includes(0)) return { nodeCount, firstOut, head }
  const first = new Uint32Array(nodeCount + 1)
  const kept = new Uint32Array(isKept.reduce((sum, one) => sum + one, 0))
  let count = 0
  for (let node = 0; node < nodeCount; node++) {
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++)
      if (isKept[arc] === 1) kept[count++] = head[arc]!
    first[node + 1] = count
  }
  return { nodeCount, firstOut: first, head: kept }
}

/** Counts the nodes of the main network and the arcs between them. */
function countMain({ firstOut, head }: Directed, component: Uint32Array, largest: number): MainNetwork {
  let nodes = 0
  let arcs = 0
  for (let node = 0; node < component.length; node++) {
    if (component[node] !== largest) continue
    nodes++
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++)
      if (component[head[arc]!] === largest) arcs++
  }
  return { nodes, arcs }
}

/** Arc → node that it leaves, which the graph does not store. */
export function arcTails({ nodeCount, firstOut }: Omit<Directed, 'head'>): Uint32Array {
  const tail = new Uint32Array(firstOut[nodeCount]!)
  for (let node = 0; node < nodeCount; node++) tail.fill(node, firstOut[node]!, firstOut[node + 1]!)
  return tail
}

/**
 * Finds the strongly connected components: node → number, and the number of the largest (the first of equal
 * ones).
 *
 * Tarjan's algorithm with a stack of its own, because recursion as deep as the roads of a country overflows.
 *
 * @see R. E. Tarjan, "Depth-first search and linear graph algorithms", 1972
 */
export function findComponents({ nodeCount, firstOut, head }: Directed): {
  component: Uint32Array
  largest: number
  count: number
} {
  const component = new Uint32Array(nodeCount).fill(UNSEEN)
  const seenAt = new Uint32Array(nodeCount).fill(UNSEEN)
  const low = new Uint32Array(nodeCount)
  const nextArc = new Uint32Array(nodeCount)
  // path of the search from its start; and all nodes whose component is not closed yet, in the order of
  // discovery
  const path = new Uint32Array(nodeCount)
  const open = new Uint32Array(nodeCount)
  let pathLength = 0
  let openLength = 0
  let time = 0
  let count = 0
  let largest = 0
  let largestSize = 0
  const visit = (node: number) => {
    seenAt[node] = time
    low[node] = time++
    nextArc[node] = firstOut[node]!
    path[pathLength++] = node
    open[openLength++] = node
  }
  for (let start = 0; start < nodeCount; start++) {
    if (seenAt[start] !== UNSEEN) continue
    visit(start)
    while (pathLength > 0) {
      const node = path[pathLength - 1]!
      const arc = nextArc[node]!
      if (arc < firstOut[node + 1]!) {
        nextArc[node] = arc + 1
        const next = head[arc]!
        if (seenAt[next] === UNSEEN) visit(next)
        // a node of a closed component cannot lead back here
        else if (component[next] === UNSEEN) low[node] = Math.min(low[node]!, seenAt[next]!)
        continue
      }
      pathLength-- // all arcs of the node are walked: its low point counts for its predecessor
      if (pathLength > 0) low[path[pathLength - 1]!] = Math.min(low[path[pathLength - 1]!]!, low[node]!)
      if (low[node] !== seenAt[node]) continue
      const size = closeComponent(node)
      if (size > largestSize) {
        largestSize = size
        largest = count
      }
      count++
    }
  }
  return { component, largest, count }

  /** Closes the component of a root: all nodes opened since. @returns its size */
  function closeComponent(root: number): number {
    const before = openLength
    let node: number
    do {
      node = open[--openLength]!
      component[node] = count
    } while (node !== root)
    return before - openLength
  }
}

/** Marks all nodes that can be reached from marked ones. */
export function spread(marked: Uint8Array, first: Uint32Array, next: Uint32Array, nodeCount: number): void {
  const stack = new Uint32Array(nodeCount)
  let length = 0
  for (let node = 0; node < nodeCount; node++) if (marked[node] === 1) stack[length++] = node
  while (length > 0) {
    const node = stack[--length]!
    for (let at = first[node]!; at < first[node + 1]!; at++) {
      const to = next[at]!
      if (marked[to] === 1) continue
      marked[to] = 1
      stack[length++] = to
    }
  }
}

/** Node → tails of the arcs that lead to it, as an adjacency for `spread`. */
export function reverse(head: Uint32Array, tail: Uint32Array, nodeCount: number, arcCount: number) {
  const first = new Uint32Array(nodeCount + 1)
  for (let arc = 0; arc < arcCount; arc++) first[head[arc]! + 1]!++
  for (let node = 0; node < nodeCount; node++) first[node + 1]! += first[node]!
  const at = first.slice()
  const tails = new Uint32Array(arcCount)
  for (let arc = 0; arc < arcCount; arc++) tails[at[head[arc]!]!++] = tail[arc]!
  return { first, tails }
}
