import { createEdgeSet, type Edges, keyX, keyY, pointKey } from './grid-edges.js'
import { type Area, nestRings } from './nest-rings.js'
import { snapEdges } from './snap-edges.js'

/** Points at which several parts of an area touch; areas with more are refused. */
const MAX_TOUCHES = 5000

/**
 * Makes valid areas of rings on a grid, under the even-odd rule: rings are simple, touch each other in single
 * points at most, holes lie inside their outer ring, and the inside of each area is connected.
 *
 * @param rings x, y … whole numbers; they may cross, touch and cover each other
 * @returns undefined when the rings are too entangled
 */
export function validAreas(rings: readonly (readonly number[])[]): Area[] | undefined {
  const set = createEdgeSet()
  for (const ring of rings) {
    const { length } = ring
    for (let at = 0; at < length; at += 2) {
      const next = (at + 2) % length
      set.toggle(ring[at]!, ring[at + 1]!, ring[next]!, ring[next + 1]!)
    }
  }
  const edges = snapEdges(set.edges())
  if (edges === undefined) return undefined
  const loops = traceLoops(edges)
  // straight points go last: while rings are nested, their common points are points of both
  return loops && nestRings(loops.flatMap(splitLoop)).map((area) => area.map(dropStraight))
}

/** Edges at the points where they meet. */
interface Joints {
  /** point → its edges, by their index, in the order of their angles where there are more than two */
  readonly at: ReadonlyMap<number, number[]>
  /** point and edge → the edge that goes on at the other side of the same inside */
  partner(point: number, edge: number): number
}

/** Follows edges to loops, each along one connected part of the inside. */
function traceLoops(edges: Edges): number[][] | undefined {
  const joints = findJoints(edges)
  if (joints === undefined) return undefined
  const isUsed = new Uint8Array(edges.length / 4)
  const loops: number[][] = []
  for (let first = 0; first < isUsed.length; first++) {
    if (isUsed[first] === 1) continue
    const loop: number[] = []
    let edge = first
    let point = pointKey(edges[first * 4]!, edges[first * 4 + 1]!)
    while (isUsed[edge] === 0) {
      isUsed[edge] = 1
      loop.push(point)
      point = otherEnd(edges, edge, point)
      edge = joints.partner(point, edge)
    }
    loops.push(loop)
  }
  return loops
}

function otherEnd(edges: Edges, edge: number, point: number): number {
  const a = pointKey(edges[edge * 4]!, edges[edge * 4 + 1]!)
  return a === point ? pointKey(edges[edge * 4 + 2]!, edges[edge * 4 + 3]!) : a
}

function findJoints(edges: Edges): Joints | undefined {
  const at = new Map<number, number[]>()
  for (let edge = 0; edge * 4 < edges.length; edge++) {
    for (const end of [0, 2]) {
      const key = pointKey(edges[edge * 4 + end]!, edges[edge * 4 + end + 1]!)
      const known = at.get(key)
      if (known === undefined) at.set(key, [edge])
      else known.push(edge)
    }
  }
  let touches = 0
  for (const [point, list] of at) {
    if (list.length <= 2) continue
    if (++touches > MAX_TOUCHES) return undefined
    at.set(point, pairedByInside(edges, point, list))
  }
  return {
    at,
    partner(point, edge) {
      const list = at.get(point)!
      return list[list.indexOf(edge) ^ 1]!
    },
  }
}

/**
 * Orders the edges at a point by angle, so that the edges 0 and 1, 2 and 3 … have the inside between them. The
 * inside and the outside alternate around a point; which is which is counted along a ray just to the right of
 * straight up.
 */
function pairedByInside(edges: Edges, point: number, list: readonly number[]): number[] {
  const x = keyX(point)
  const y = keyY(point)
  const away = list.map((edge) => {
    const end = otherEnd(edges, edge, point)
    return { edge, angle: clockwiseAngle(keyX(end) - x, keyY(end) - y) }
  })
  away.sort((a, b) => a.angle - b.angle)
  const ordered = away.map(({ edge }) => edge)
  const own = new Set(list)
  let crossings = 0
  for (let edge = 0; edge * 4 < edges.length; edge++) {
    if (!own.has(edge) && isAbove(edges, edge * 4, x, y)) crossings++
  }
  // the ray lies between the last edge and the first, or, with an edge straight up, behind that one
  const isUp = away[0]!.angle === 0
  const isInside = crossings % 2 === 1
  // inside behind the ray: the pair is around it
  const shift = isInside !== isUp ? ordered.length - 1 : 0
  return [...ordered.slice(shift), ...ordered.slice(0, shift)]
}

/** Angle from straight up, clockwise, 0 to below 4: monotone, not in degrees. `dy` grows upwards here. */
function clockwiseAngle(dx: number, dy: number): number {
  const share = Math.abs(dx) / (Math.abs(dx) + Math.abs(dy))
  if (dx >= 0 && dy > 0) return share
  if (dx > 0) return 2 - share
  if (dy < 0) return 2 + share
  return 4 - share
}

/** Returns true when an edge crosses the ray upwards from a point, moved to the right by next to nothing. */
function isAbove(edges: Edges, at: number, x: number, y: number): boolean {
  let [x0, y0, x1, y1] = [edges[at]!, edges[at + 1]!, edges[at + 2]!, edges[at + 3]!]
  if (x0 > x1) [x0, y0, x1, y1] = [x1, y1, x0, y0]
  if (!(x0 <= x && x < x1)) return false
  return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) < 0
}

/** Parts a loop where it visits a point again, into rings that visit each point once. */
function splitLoop(loop: readonly number[]): number[][] {
  const rings: number[][] = []
  const stack: number[] = []
  const placeOf = new Map<number, number>()
  for (const point of loop) {
    const known = placeOf.get(point)
    if (known !== undefined) {
      const cut = stack.splice(known)
      for (const each of cut) placeOf.delete(each)
      rings.push(cut)
    }
    placeOf.set(point, stack.length)
    stack.push(point)
  }
  rings.push(stack)
  return rings.filter((ring) => ring.length >= 3).map((ring) => ring.flatMap((key) => [keyX(key), keyY(key)]))
}

/** Drops the points of a ring that lie on a straight line between their neighbours. */
function dropStraight(ring: readonly number[]): number[] {
  const { length } = ring
  return ring.filter((_, i) => {
    const at = i & ~1
    const [before, after] = [(at + length - 2) % length, (at + 2) % length]
    const [x, y] = [ring[at]!, ring[at + 1]!]
    return (ring[before]! - x) * (ring[after + 1]! - y) !== (ring[before + 1]! - y) * (ring[after]! - x)
  })
}
