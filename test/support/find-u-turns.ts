import { ENDS_ONLY, type Graph, isBannedUTurn } from '../../src/routing/graph/graph.js'
import { numberAt, numbersOf } from '../../src/routing/graph/paged.js'

/** A line of an answer that doubles back: the point before and the point where it turns. */
export interface LineUTurn {
  readonly before: readonly number[]
  readonly at: readonly number[]
}

/**
 * Finds where a leg drives back over the road it came by, from the answer's geometry alone.
 *
 * @param lines of one leg, in the order of travel
 */
export function findUTurns(lines: readonly (readonly (readonly number[])[])[]): LineUTurn[] {
  const points: (readonly number[])[] = []
  for (const point of lines.flat()) {
    const last = points.at(-1)
    if (last === undefined || !isSame(last, point)) points.push(point)
  }
  const found: LineUTurn[] = []
  for (let i = 2; i < points.length; i++) {
    const [before, at, after] = [points[i - 2]!, points[i - 1]!, points[i]!]
    if (isSame(before, after)) found.push({ before, at })
  }
  return found
}

/** Returns the number of open road ends at a place. */
function roadsAt(graph: Graph, [lng = 0, lat = 0]: readonly number[]): number {
  let count = 0
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    for (const junction of [graph.segmentTail[segment]!, graph.segmentHead[segment]!]) {
      if (graph.junctionLngE7[junction] !== Math.round(lng * 1e7)) continue
      if (graph.junctionLatE7[junction] === Math.round(lat * 1e7)) count++
    }
  }
  return count
}

/**
 * Returns true when a route turns round where no other road may be entered: none is open there, or only private ones
 * are, which public traffic does not enter.
 */
export function isDeadEnd(graph: Graph, steps: readonly { link: number }[], at: readonly number[]): boolean {
  const link = turnedLink(graph, steps, at)
  if (link === undefined) return roadsAt(graph, at) <= 1
  const isPublic = (graph.linkFlags[link]! & ENDS_ONLY) === 0
  for (let other = 0; other < graph.segmentCount * 2; other++) {
    if (
      other === (link ^ 1) ||
      graph.linkSpeed[other] === 0 ||
      endOf(graph, other ^ 1) !== endOf(graph, link)
    )
      continue
    if (!isPublic || (graph.linkFlags[other]! & ENDS_ONLY) === 0) return false
  }
  return true
}

/** Link at whose end, which lies at a place, a route turns round. */
function turnedLink(
  graph: Graph,
  steps: readonly { link: number }[],
  [lng = 0, lat = 0]: readonly number[],
): number | undefined {
  return steps.find(({ link }, i) => {
    const end = endOf(graph, link)
    const isThere =
      graph.junctionLngE7[end] === Math.round(lng * 1e7) && graph.junctionLatE7[end] === Math.round(lat * 1e7)
    return isThere && steps[i + 1]?.link === (link ^ 1)
  })?.link
}

function endOf({ segmentTail, segmentHead }: Graph, link: number): number {
  return ((link & 1) === 0 ? segmentHead : segmentTail)[link >>> 1]!
}

/**
 * Returns true when the route could not have gone on instead: whatever link it takes at the place, it never
 * comes to drive back, unless it turns round there.
 */
export function isOnlyWay(
  graph: Graph,
  steps: readonly { link: number }[],
  [lng = 0, lat = 0]: readonly number[],
): boolean {
  const link = turnedLink(graph, steps, [lng, lat])
  if (link === undefined) return false
  const { firstOut, head, arcLink } = graph
  const [from, end] = [numberAt(graph.linkFirstArc, link), numberAt(graph.linkFirstArc, link + 1)]
  const open = [...numbersOf(graph.linkArcs).subarray(from, end)]
  const isSeen = new Set(open)
  for (const arc of open) {
    for (let next = firstOut[head[arc]!]!; next < firstOut[head[arc]! + 1]!; next++) {
      const isTurn = arcLink[next] === (arcLink[arc]! ^ 1)
      if (isTurn && (arcLink[arc] === link || isBannedUTurn(graph, arcLink[arc]!, arcLink[next]!))) continue
      if (arcLink[next] === (link ^ 1)) return false
      if (isSeen.has(next)) continue
      isSeen.add(next)
      open.push(next)
    }
  }
  return true
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a[0] === b[0] && a[1] === b[1]
}
