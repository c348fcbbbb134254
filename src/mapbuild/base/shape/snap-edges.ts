import { createEdgeSet, type Edges, findMeetings, keyX, keyY, pointKey } from './grid-edges.js'

/** One round removes all crossings unless a rounded edge touches a further point; two are the rule. */
const MAX_ROUNDS = 12
/** Edges after all crossings are cut; rings that become more are refused. */
const MAX_EDGES = 400_000
/** Points that are compared with edges at most. */
const MAX_TESTS = 10_000_000

/**
 * Cuts edges where they cross or touch, on the points of the grid, so that they meet at their ends alone.
 *
 * @returns undefined when the edges are too entangled for that
 * @see J. D. Hobby, "Practical segment intersection with finite precision output", 1999
 */
export function snapEdges(edges: Edges): Edges | undefined {
  let current = edges
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const meetings = findMeetings(current)
    if (meetings === undefined) return undefined
    if (meetings.size === 0) return current
    const next = cutAtPoints(current, meetings)
    if (next === undefined) return undefined
    current = next
  }
  return undefined
}

/** Leads each edge through all points whose square of the grid it enters. */
function cutAtPoints(edges: Edges, meetings: ReadonlySet<number>): Edges | undefined {
  const points = sortedPoints(edges, meetings)
  const cut = createEdgeSet()
  let made = 0
  let tests = 0
  for (let at = 0; at < edges.length; at += 4) {
    const [x0, y0, x1, y1] = [edges[at]!, edges[at + 1]!, edges[at + 2]!, edges[at + 3]!]
    const from = lowerBound(points, pointKey(Math.min(x0, x1), -32_768))
    const on: { share: number; key: number }[] = []
    const right = Math.max(x0, x1)
    for (let i = from; i < points.length; i++) {
      const key = points[i]!
      const x = keyX(key)
      if (x > right) break
      tests++
      const y = keyY(key)
      if (!entersSquare(x0, y0, x1, y1, x, y)) continue
      on.push({ share: (x - x0) * (x1 - x0) + (y - y0) * (y1 - y0), key })
    }
    if (tests > MAX_TESTS) return undefined
    on.sort((a, b) => a.share - b.share || a.key - b.key)
    for (let i = 1; i < on.length; i++) {
      const [a, b] = [on[i - 1]!.key, on[i]!.key]
      cut.toggle(keyX(a), keyY(a), keyX(b), keyY(b))
    }
    made += on.length
    if (made > MAX_EDGES) return undefined
  }
  return cut.edges()
}

/** Ends of all edges, and where they meet; ascending. */
function sortedPoints(edges: Edges, meetings: ReadonlySet<number>): Float64Array {
  const points = new Set(meetings)
  for (let at = 0; at < edges.length; at += 2) points.add(pointKey(edges[at]!, edges[at + 1]!))
  return Float64Array.from(points).sort()
}

function lowerBound(values: Float64Array, value: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Returns true when an edge has a point in the square of side 1 around a point of the grid. Its left and lower
 * borders belong to the square, so that each point of the plane is in one square, that of its rounded coordinates.
 */
function entersSquare(x0: number, y0: number, x1: number, y1: number, x: number, y: number): boolean {
  if ((x0 === x && y0 === y) || (x1 === x && y1 === y)) return true
  const left = Math.min(x0, x1)
  const low = Math.min(y0, y1)
  if (x < left || x > Math.max(x0, x1) || y < low || y > Math.max(y0, y1)) return false
  // distance from the line against the reach of the square across it; doubled, so that all is whole
  const dx = x1 - x0
  const dy = y1 - y0
  const offset = (dx * (y - y0) - dy * (x - x0)) * 2
  const reach = Math.abs(dx) + Math.abs(dy)
  if (Math.abs(offset) !== reach) return Math.abs(offset) < reach
  // the line runs through a corner: only the lower left one belongs to the square
  const isThroughLowerLeft = offset - dx + dy === 0
  return isThroughLowerLeft && x > left && y > low
}
