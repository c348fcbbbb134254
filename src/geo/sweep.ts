import { orient2d } from 'robust-predicates'
import { segmentsTouch } from './segments.js'
import { KIND, type Shape } from './shape.js'
import { createSweepStatus, type SweepStatus } from './sweep-status.js'

/**
 * Decides whether two shapes share a point, by a line that sweeps over both. Exact.
 *
 * Cost: n log n for n positions, however long and close together the edges are, where a search in a tree of
 * boxes may need their product. It is slower than the tree for ordinary shapes.
 *
 * @param throwIfEnded called at each position; what it throws ends the work
 * @returns undefined when edges of one shape meet elsewhere than at their ends, as in a ring that crosses
 *   itself, or a shape has several polygons: the order along the line does not decide then
 * @see M. I. Shamos, D. Hoey, "Geometric intersection problems", 17th Symposium on Foundations of Computer
 *   Science, 1976
 */
export function sweepIntersects(
  a: Shape,
  b: Shape,
  throwIfEnded: () => void = () => undefined,
): boolean | undefined {
  if (a.polygonCount > 1 || b.polygonCount > 1) return undefined
  const segments = collectSegments([a, b])
  const places = collectPlaces([a, b])
  const status = createSweepStatus(segments.group)
  const sweep: Sweep = { segments, places, status, before: -1 }
  for (const event of sortedEvents(segments, places)) {
    throwIfEnded()
    const found = stepOf(event, sweep)
    if (found !== 'go on') return found
  }
  return false
}

/** Edges of both shapes. Each goes from its lesser end to its greater one, by x, then by y. */
interface Segments {
  readonly count: number
  /** segment → ax, ay, bx, by */
  readonly ends: Float64Array
  /** segment → shape, 0 or 1 */
  readonly shape: Uint8Array
  /** segment → its shape when it is an edge of a ring, else 2: what is counted below a place */
  readonly group: Uint8Array
}

/** Points, and one vertex of each line and ring. */
interface Places {
  readonly count: number
  readonly xy: Float64Array
  readonly shape: Uint8Array
}

interface Sweep {
  readonly segments: Segments
  readonly places: Places
  readonly status: SweepStatus
  /** place examined last; -1 for none */
  before: number
}

/** Kinds of events in their order at one place: what ends there is still met by what begins there. */
const [INSERT, LOOK, REMOVE] = [0, 1, 2]

interface Events {
  readonly kind: Uint8Array
  readonly of: Int32Array
  readonly order: Uint32Array
}

function collectSegments(shapes: readonly [Shape, Shape]): Segments {
  const size = shapes[0].edgeCount + shapes[1].edgeCount
  const ends = new Float64Array(size * 4)
  const shape = new Uint8Array(size)
  const group = new Uint8Array(size)
  let count = 0
  for (const [which, { kind, skip, first, last, xy, nodeCount }] of shapes.entries()) {
    let ringsEnd = 0 // first node behind the rings of a polygon
    for (let node = 0; node < nodeCount; node++) {
      if (kind[node] === KIND.POLYGON) ringsEnd = skip[node]!
      if (kind[node] !== KIND.LEAF) continue
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2) {
        const [ax, ay, bx, by] = [xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!]
        if (ax === bx && ay === by) continue // its place is an end of the next edge
        const isForward = ax < bx || (ax === bx && ay < by)
        ends.set(isForward ? [ax, ay, bx, by] : [bx, by, ax, ay], count * 4)
        shape[count] = which
        group[count] = node < ringsEnd ? which : 2
        count++
      }
    }
  }
  return { count, ends, shape: shape.subarray(0, count), group: group.subarray(0, count) }
}

function collectPlaces(shapes: readonly [Shape, Shape]): Places {
  const xy: number[] = []
  const shape: number[] = []
  for (const [which, { kind, first, starts, nodeCount, xy: from }] of shapes.entries()) {
    const add = (position: number) => {
      xy.push(from[position * 2]!, from[position * 2 + 1]!)
      shape.push(which)
    }
    for (const start of starts) add(start)
    for (let node = 0; node < nodeCount; node++) if (kind[node] === KIND.POINT) add(first[node]!)
  }
  return { count: shape.length, xy: Float64Array.from(xy), shape: Uint8Array.from(shape) }
}

/** Returns all events by x, y and kind. */
function sortedEvents({ count, ends }: Segments, places: Places): Iterable<{ kind: number; of: number }> {
  const size = count * 2 + places.count
  const events: Events = {
    kind: new Uint8Array(size),
    of: new Int32Array(size),
    order: Uint32Array.from({ length: size }, (_, event) => event),
  }
  const xy = new Float64Array(size * 2)
  const put = (event: number, kind: number, of: number, x: number, y: number) => {
    events.kind[event] = kind
    events.of[event] = of
    xy[event * 2] = x
    xy[event * 2 + 1] = y
  }
  for (let at = 0; at < count; at++) {
    put(at * 2, INSERT, at, ends[at * 4]!, ends[at * 4 + 1]!)
    put(at * 2 + 1, REMOVE, at, ends[at * 4 + 2]!, ends[at * 4 + 3]!)
  }
  for (let at = 0; at < places.count; at++)
    put(count * 2 + at, LOOK, at, places.xy[at * 2]!, places.xy[at * 2 + 1]!)
  const { kind, of, order } = events
  order.sort((a, b) => xy[a * 2]! - xy[b * 2]! || xy[a * 2 + 1]! - xy[b * 2 + 1]! || kind[a]! - kind[b]!)
  return {
    *[Symbol.iterator]() {
      for (const event of order) yield { kind: kind[event]!, of: of[event]! }
    },
  }
}

/** Result of the sweep, once it is known. */
type Step = true | undefined | 'go on'

function stepOf({ kind, of }: { kind: number; of: number }, sweep: Sweep): Step {
  const { segments, status } = sweep
  if (kind === LOOK) return lookAround(sweep, of)
  if (kind === REMOVE) {
    const [under, over] = [status.below[of]!, status.above[of]!]
    status.remove(of)
    return meet(segments, under, over)
  }
  status.insert(of, (other) => sideOfSegment(segments, of, other))
  const found = meet(segments, status.below[of]!, of)
  return found === 'go on' ? meet(segments, of, status.above[of]!) : found
}

/** Decides whether a place is one of the other shape, touches an edge of it, or lies in its area. */
function lookAround(sweep: Sweep, place: number): Step {
  const { segments, places, status } = sweep
  const { ends, shape } = segments
  const [x, y] = [places.xy[place * 2]!, places.xy[place * 2 + 1]!]
  const other = 1 - places.shape[place]!
  const { before } = sweep
  sweep.before = place
  // equal places follow each other
  let touches =
    before >= 0 &&
    places.shape[before] === other &&
    places.xy[before * 2] === x &&
    places.xy[before * 2 + 1] === y
  const rings = status.countBelow(other, (at) => {
    const side = orient2d(ends[at * 4]!, ends[at * 4 + 1]!, ends[at * 4 + 2]!, ends[at * 4 + 3]!, x, y)
    touches ||= side === 0 && shape[at] === other
    return side > 0 ? -1 : 1 // robust-predicates: positive is to the right, and the segment goes to the east
  })
  return touches || rings % 2 === 1 ? true : 'go on'
}

/**
 * Side of a segment's beginning relative to another segment, or where it lies on that one, of its end. It is
 * over all segments that end where it begins, so that the order of those that begin there is kept.
 */
function sideOfSegment({ ends }: Segments, segment: number, other: number): number {
  const [at, to] = [segment * 4, other * 4]
  const [x, y] = [ends[at]!, ends[at + 1]!]
  const [ax, ay, bx, by] = [ends[to]!, ends[to + 1]!, ends[to + 2]!, ends[to + 3]!]
  const side = -orient2d(ax, ay, bx, by, x, y)
  if (side !== 0) return side
  return bx === x && by === y ? 1 : -orient2d(ax, ay, bx, by, ends[at + 2]!, ends[at + 3]!)
}

/**
 * Compares two neighbours. Of two shapes, they decide when they touch; of one shape, they end the sweep when
 * they meet elsewhere than at a common end.
 */
function meet({ ends, shape }: Segments, one: number, other: number): Step {
  if (one < 0 || other < 0) return 'go on'
  const [at, to] = [one * 4, other * 4]
  const [ax, ay, bx, by] = [ends[at]!, ends[at + 1]!, ends[at + 2]!, ends[at + 3]!]
  const [cx, cy, dx, dy] = [ends[to]!, ends[to + 1]!, ends[to + 2]!, ends[to + 3]!]
  if (!segmentsTouch(ax, ay, bx, by, cx, cy, dx, dy)) return 'go on'
  if (shape[one] !== shape[other]) return true
  const isChain = (bx === cx && by === cy) || (dx === ax && dy === ay)
  const isFork = (ax === cx && ay === cy) || (bx === dx && by === dy)
  // two that begin or end together meet nowhere else unless they lie on one line
  const isOnLine = orient2d(ax, ay, bx, by, cx, cy) === 0 && orient2d(ax, ay, bx, by, dx, dy) === 0
  return isChain || (isFork && !isOnLine) ? 'go on' : undefined
}
