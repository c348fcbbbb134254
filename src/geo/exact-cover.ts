import { KIND, type Shape } from './shape.js'

/**
 * Decides exactly whether one shape covers the lines and areas of another, also where borders touch.
 *
 * Every edge is cut wherever an edge of either shape meets it. Between two cuts nothing changes, so the
 * middle of each piece decides for all of it: a piece of a line must lie on or in the cover, and on each side
 * of a piece of a ring, area of the covered must be area of the cover. Cuts are fractions of big integers, so
 * nothing is rounded.
 *
 * Cost: some microseconds for each pair of edges that meet. Callers try everything cheaper first.
 *
 * @param throwIfEnded called at each edge; what it throws ends the work
 * @returns `border` when covered, but with no piece inside the cover (lines along the border of an area)
 */
export function coversEdges(
  cover: Shape,
  covered: Shape,
  throwIfEnded: () => void,
): 'no' | 'border' | 'inside' {
  // one scale for both, so that their integers can be compared
  const scale = scaleOf(cover, covered)
  let isInside = false
  for (const edge of edgesNear(covered, covered)) {
    throwIfEnded()
    const pieces = piecesOf(edge, cover, covered, scale)
    for (const middle of pieces) {
      const over = sidesAt(cover, middle, scale)
      const under = edge.isRing ? sidesAt(covered, middle, scale) : NO_SIDES
      // area of the covered beside the piece, and no area of the cover there
      if ((under.sides & ~over.sides) !== 0) return 'no'
      // a piece without area beside it must lie inside the cover or on one of its edges
      if (under.sides === 0 && over.sides === 0 && !over.isOnEdge) return 'no'
      // a ring without area on one of its sides has no inside that could be shared
      isInside ||= edge.isRing ? under.sides !== 0 : over.isInsidePolygon || over.isOnLine
    }
  }
  return ringsLeaveNoGap(cover, covered, scale, throwIfEnded) ? (isInside ? 'inside' : 'border') : 'no'
}

/** Checks the rings of the cover that run through the covered: both sides must be covered there. */
function ringsLeaveNoGap(cover: Shape, covered: Shape, scale: Scale, throwIfEnded: () => void): boolean {
  // points and lines have no inside through which a ring of the cover could run
  if (covered.polygonCount === 0) return true
  for (const edge of edgesNear(cover, covered)) {
    throwIfEnded()
    if (!edge.isRing) continue
    for (const middle of piecesOf(edge, cover, covered, scale)) {
      const under = sidesAt(covered, middle, scale)
      if ((under.sides & ~sidesAt(cover, middle, scale).sides) !== 0) return false
    }
  }
  return true
}

/** Conversion of doubles to big integers: value · 2^shift is an integer. */
interface Scale {
  readonly shift: number
  /** largest absolute coordinate */
  readonly maxAbs: number
}

/** Edge of a line or ring between two positions. */
interface Edge {
  readonly ax: number
  readonly ay: number
  readonly bx: number
  readonly by: number
  readonly isRing: boolean
}

/** Point with rational coordinates `nx / den`, `ny / den` (scaled), and a double close to it. */
interface Middle {
  readonly nx: bigint
  readonly ny: bigint
  readonly den: bigint
  readonly x: number
  readonly y: number
  /** largest error of the double; Infinity when it overflowed */
  readonly tolerance: number
}

/** Surroundings of a point. */
interface Sides {
  /**
   * bit 0: area on the side to the east (of a horizontal edge, to the north); bit 1: area on the other side
   */
  readonly sides: number
  readonly isOnEdge: boolean
  readonly isOnLine: boolean
  /** strictly inside one polygon */
  readonly isInsidePolygon: boolean
}

const NO_SIDES: Sides = { sides: 0, isOnEdge: false, isOnLine: false, isInsidePolygon: false }

function scaleOf(a: Shape, b: Shape): Scale {
  const [one, other] = [ownScale(a), ownScale(b)]
  return { shift: Math.max(one.shift, other.shift), maxAbs: Math.max(one.maxAbs, other.maxAbs) }
}

/** Scale of each shape, kept as long as the shape: one area is compared with many others. */
const scales = new WeakMap<Shape, Scale>()

function ownScale(shape: Shape): Scale {
  let scale = scales.get(shape)
  if (scale === undefined) {
    let [shift, maxAbs] = [0, 0]
    for (const value of shape.xy) {
      maxAbs = Math.max(maxAbs, Math.abs(value))
      shift = Math.max(shift, fractionBits(value))
    }
    scale = { shift, maxAbs }
    scales.set(shape, scale)
  }
  return scale
}

/** Binary digits after the point that a double needs, or some more. */
function fractionBits(value: number): number {
  if (Number.isInteger(value)) return 0
  const exponent = Math.floor(Math.log2(Math.abs(value)))
  let bits = Math.max(0, 52 - Math.max(exponent, -1022)) // never too few; the logarithm may be one off
  while (bits > 0 && exponent > -900 && Number.isInteger(value * 2 ** (bits - 1))) bits--
  return bits + 1
}

/**
 * Converts a double to a big integer, exactly: `shift` is large enough for every coordinate of both shapes.
 */
function toInteger(value: number, { shift }: Scale): bigint {
  if (value === 0) return 0n
  // value · 2^-exponent is whole: a double has 53 significant bits, and none below 2^-1074
  const exponent = Math.max(-1074, Math.floor(Math.log2(Math.abs(value))) - 53)
  // 2 ** -exponent may overflow for the smallest doubles, so the power is applied in two steps
  const half = Math.trunc(-exponent / 2)
  const mantissa = BigInt(value * 2 ** half * 2 ** (-exponent - half))
  const power = shift + exponent
  // to the right only zeros are shifted out, because `shift` covers every digit of the value
  return power >= 0 ? mantissa << BigInt(power) : mantissa >> BigInt(-power)
}

/** Edges of a shape near another one. */
function* edgesNear(shape: Shape, other: Shape): Generator<Edge> {
  const [west, south, east, north] = other.bbox ?? [0, 0, 0, 0]
  yield* edgesInBox(shape, west, south, east, north)
}

/** Edges of lines and rings in the leaves that meet a box; edges without length are skipped. */
function* edgesInBox(
  shape: Shape,
  west: number,
  south: number,
  east: number,
  north: number,
): Generator<Edge> {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  // first node after the last polygon met: leaves before it belong to rings, the others to lines
  let polygonEnd = 0
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (kind[node] === KIND.POLYGON) polygonEnd = skip[node]!
    if (!(box[at]! <= east && box[at + 2]! >= west && box[at + 1]! <= north && box[at + 3]! >= south)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2) {
        const edge = { ax: xy[i]!, ay: xy[i + 1]!, bx: xy[i + 2]!, by: xy[i + 3]!, isRing: node < polygonEnd }
        if (edge.ax !== edge.bx || edge.ay !== edge.by) yield edge
      }
    }
    node++
  }
}

/** Middles of the pieces into which the edges of both shapes cut one edge. */
function piecesOf(edge: Edge, a: Shape, b: Shape, scale: Scale): Middle[] {
  // the edge as p + t · d for t from 0 to 1, in scaled integers
  const px = toInteger(edge.ax, scale)
  const py = toInteger(edge.ay, scale)
  const dx = toInteger(edge.bx, scale) - px
  const dy = toInteger(edge.by, scale) - py
  const cuts: Fraction[] = [
    { num: 0n, den: 1n },
    { num: 1n, den: 1n },
  ]
  const west = Math.min(edge.ax, edge.bx)
  const east = Math.max(edge.ax, edge.bx)
  const south = Math.min(edge.ay, edge.by)
  const north = Math.max(edge.ay, edge.by)
  for (const shape of [a, b]) {
    for (const other of edgesInBox(shape, west, south, east, north)) {
      // the other edge relative to p: from q along e
      const qx = toInteger(other.ax, scale) - px
      const qy = toInteger(other.ay, scale) - py
      const ex = toInteger(other.bx, scale) - px - qx
      const ey = toInteger(other.by, scale) - py - qy
      addCuts(cuts, { dx, dy, qx, qy, ex, ey })
    }
  }
  // by cross multiplication: denominators are above 0
  cuts.sort((left, right) => sign(left.num * right.den - right.num * left.den))
  const middles: Middle[] = []
  for (let index = 1; index < cuts.length; index++) {
    const low = cuts[index - 1]!
    const high = cuts[index]!
    // equal cuts have no piece between them
    if (low.num * high.den === high.num * low.den) continue
    // half of the sum of two fractions
    const num = low.num * high.den + high.num * low.den
    const den = 2n * low.den * high.den
    const double = doubleAt(edge, num, den, scale)
    middles.push({ nx: px * den + dx * num, ny: py * den + dy * num, den, ...double })
  }
  return middles
}

/** Place on an edge: 0 is its beginning, 1 its end. */
interface Fraction {
  num: bigint
  /** above zero */
  den: bigint
}

/** Two segments: from (0, 0) along (dx, dy), and from (qx, qy) along (ex, ey). */
interface SegmentPair {
  readonly dx: bigint
  readonly dy: bigint
  readonly qx: bigint
  readonly qy: bigint
  readonly ex: bigint
  readonly ey: bigint
}

/** Adds the places where the second segment meets the first, as fractions of the first. */
function addCuts(cuts: Fraction[], { dx, dy, qx, qy, ex, ey }: SegmentPair): void {
  // 0 for parallel directions
  const cross = dx * ey - dy * ex
  if (cross !== 0n) {
    addFraction(cuts, qx * ey - qy * ex, cross) // a cut beyond the ends of the second does no harm
    return
  }
  if (qx * dy !== qy * dx) return // parallel
  // on one line: both ends of the second segment, projected onto the first, are cuts
  const lengthSquared = dx * dx + dy * dy
  addFraction(cuts, qx * dx + qy * dy, lengthSquared)
  addFraction(cuts, (qx + ex) * dx + (qy + ey) * dy, lengthSquared)
}

function addFraction(cuts: Fraction[], num: bigint, den: bigint): void {
  // the ends are cuts of every edge, so only places strictly between them are added
  const fraction = den < 0n ? { num: -num, den: -den } : { num, den }
  if (fraction.num > 0n && fraction.num < fraction.den) cuts.push(fraction)
}

/**
 * Double near a place on an edge. Its error is some units in the last place; the tolerance is a thousand
 * times that.
 */
function doubleAt(edge: Edge, num: bigint, den: bigint, scale: Scale): Pick<Middle, 'x' | 'y' | 'tolerance'> {
  const t = Number(num) / Number(den)
  const x = edge.ax + (edge.bx - edge.ax) * t
  const y = edge.ay + (edge.by - edge.ay) * t
  const isKnown = Number.isFinite(x) && Number.isFinite(y)
  return isKnown ? { x, y, tolerance: scale.maxAbs * 1e-13 } : { x: 0, y: 0, tolerance: Infinity }
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0
}

/** Surroundings of a point in a shape. The point must not be an end or crossing of edges. */
function sidesAt(shape: Shape, middle: Middle, scale: Scale): Sides {
  const { box, kind, skip, nodeCount } = shape
  const { x, y, tolerance } = middle
  let sides = 0
  let isOnEdge = false
  let isOnLine = false
  let isInsidePolygon = false
  for (let node = 0; node < nodeCount; ) {
    const [part, at] = [node, node * 4]
    // a part whose box is apart has neither area nor edges there
    const isApart =
      x + tolerance < box[at]! ||
      x - tolerance > box[at + 2]! ||
      y + tolerance < box[at + 1]! ||
      y - tolerance > box[at + 3]!
    node = kind[part] === KIND.GROUP && !isApart ? part + 1 : skip[part]!
    if (isApart || (kind[part] !== KIND.POLYGON && kind[part] !== KIND.LINE)) continue
    const { crossings, on } = countAround(shape, part, middle, scale)
    isOnEdge ||= on > 0
    if (kind[part] === KIND.LINE) {
      isOnLine ||= on > 0
      continue
    }
    // even-odd; a ray from the other side also crosses the edge that the point lies on
    const east = crossings % 2
    const west = (crossings + on) % 2
    sides |= east | (west << 1)
    isInsidePolygon ||= on === 0 && east === 1
  }
  return { sides, isOnEdge, isOnLine, isInsidePolygon }
}

/** Counts the edges of one part that cross the ray from a point to the east, and those that it lies on. */
function countAround(
  shape: Shape,
  part: number,
  middle: Middle,
  scale: Scale,
): { crossings: number; on: number } {
  const { box, skip, kind, first, last, xy } = shape
  const { x, y, tolerance } = middle
  let crossings = 0
  let on = 0
  let node = part + 1
  const end = skip[part]!
  while (node < end) {
    const at = node * 4
    if (y + tolerance < box[at + 1]! || y - tolerance > box[at + 3]! || x - tolerance > box[at + 2]!) {
      node = skip[node]!
      continue
    }
    // a run to the east crosses the ray an odd number of times when its ends lie on different sides of it
    const [from, to] = [xy[first[node]! * 2 + 1]!, xy[last[node]! * 2 + 1]!]
    if (x + tolerance < box[at]! && Math.abs(from - y) > tolerance && Math.abs(to - y) > tolerance) {
      crossings += Number(from > y !== to > y)
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2, stop = last[node]! * 2; i < stop; i += 2) {
        const place = placeOfEdge(middle, xy, i, scale)
        if (place === 'on') on++
        else if (place === 'east') crossings++
      }
    }
    node++
  }
  return { crossings, on }
}

/**
 * Compares an edge with the ray from a point to the east.
 *
 * @param at index of the edge's first x in `xy`
 * @returns `on` when the point lies on the edge, `east` when the edge crosses the ray
 */
function placeOfEdge(middle: Middle, xy: Float64Array, at: number, scale: Scale): 'on' | 'east' | 'off' {
  const { x, y, tolerance } = middle
  const ax = xy[at]!
  const ay = xy[at + 1]!
  const bx = xy[at + 2]!
  const by = xy[at + 3]!
  if (
    Math.max(ay, by) < y - tolerance ||
    Math.min(ay, by) > y + tolerance ||
    Math.max(ax, bx) < x - tolerance
  )
    return 'off'
  // far enough to the east, and from the point's latitude, that doubles decide
  if (Math.min(ax, bx) > x + tolerance && Math.abs(ay - y) > tolerance && Math.abs(by - y) > tolerance)
    return ay > y === by > y ? 'off' : 'east'
  // both ends relative to the point, times its denominator: exact integers
  const { den, nx, ny } = middle
  const px = toInteger(ax, scale) * den - nx
  const py = toInteger(ay, scale) * den - ny
  const qx = toInteger(bx, scale) * den - nx
  const qy = toInteger(by, scale) * den - ny
  const side = px * qy - py * qx // positive: the point is to the left of a → b
  if (side === 0n) {
    const isBetween = sign(px) * sign(qx) <= 0 && sign(py) * sign(qy) <= 0
    if (isBetween && (px !== qx || py !== qy)) return 'on'
  }
  // half-open in latitude: an end at the point's latitude counts for one of the two edges that meet there
  if (py > 0n === qy > 0n) return 'off'
  return side > 0n === qy > py ? 'east' : 'off'
}
