import type { Bbox, Geometry, Position } from './types.js'

/** Kinds of nodes in a shape's tree. */
export const KIND = {
  /** several parts */
  GROUP: 0,
  POINT: 1,
  LINE: 2,
  /** its rings follow as runs or leaves */
  POLYGON: 3,
  /** consecutive positions of one line or ring, more than a leaf holds */
  RUN: 4,
  /** the same, few enough to be read one by one */
  LEAF: 5,
} as const

/**
 * A geometry prepared for exact predicates: flat coordinates under a tree of boxes.
 *
 * Nodes are in pre-order, and `skip` of a node is the first node after everything below it, so a search is
 * one loop without a stack: `node = touches(node) ? node + 1 : skip[node]`. Lines and rings are halved until
 * a run is short; consecutive positions lie close together, so they need no sorting. Parts are in Morton
 * order.
 */
export interface Shape {
  readonly nodeCount: number
  /** node → west, south, east, north */
  readonly box: Float64Array
  /** node → first node after its descendants */
  readonly skip: Uint32Array
  /** node → one of `KIND` */
  readonly kind: Uint8Array
  /**
   * node → its first and last position, both included: indexes of pairs in `xy`; of groups and parts
   * undefined
   */
  readonly first: Uint32Array
  readonly last: Uint32Array
  /** position → x, y: degrees, or the unit of `scale` */
  readonly xy: Float64Array
  /** first position of each line and ring: one place of every connected part that is not a point */
  readonly starts: Uint32Array
  readonly pointCount: number
  readonly lineCount: number
  readonly polygonCount: number
  readonly edgeCount: number
  /** undefined when the geometry is empty */
  readonly bbox: Bbox | undefined
}

/** Edges of a leaf at most. With fewer, the boxes cost more than the comparisons that they save. */
const LEAF_EDGES = 8
/** Children of a group at most; more are halved. */
const GROUP_PARTS = 4

/**
 * Builds the shape of a valid geometry (rings closed, coordinates finite). Heights are ignored.
 *
 * Cost: linear in the positions, plus a sort of the parts.
 *
 * @param scale applied to each longitude and latitude, for shapes in another unit
 */
export function shapeOf(geometry: Geometry, scale?: (degrees: number) => number): Shape {
  const parts: Part[] = []
  collect(geometry, parts)
  if (parts.length > GROUP_PARTS) sortByPlace(parts)
  const positionCount = parts.reduce((sum, part) => sum + part.size, 0)
  const builder = createBuilder(positionCount, parts.length, scale)
  addGroup(builder, parts, 0, parts.length)
  const count = (kind: number) => parts.reduce((sum, part) => sum + (part.kind === kind ? 1 : 0), 0)
  const { scale: _, startList, ...tree } = builder
  const { box, nodeCount } = tree
  return {
    ...tree,
    starts: Uint32Array.from(startList),
    pointCount: count(KIND.POINT),
    lineCount: count(KIND.LINE),
    polygonCount: count(KIND.POLYGON),
    bbox: nodeCount === 0 ? undefined : [box[0]!, box[1]!, box[2]!, box[3]!],
  }
}

/** A point, a line, or a polygon, as chains of positions. */
interface Part {
  kind: number
  chains: readonly (readonly Position[])[]
  size: number
}

/**
 * Splits a geometry into parts: collections and multi-geometries disappear, so predicates know three kinds
 * only.
 */
function collect(geometry: Geometry, parts: Part[]): void {
  switch (geometry.type) {
    case 'Point':
      // an empty point has no position
      if (geometry.coordinates[0] !== undefined)
        parts.push({ kind: KIND.POINT, chains: [[geometry.coordinates]], size: 1 })
      break
    case 'MultiPoint':
      for (const point of geometry.coordinates) parts.push({ kind: KIND.POINT, chains: [[point]], size: 1 })
      break
    case 'LineString':
      addChains(parts, KIND.LINE, [geometry.coordinates])
      break
    case 'MultiLineString':
      for (const line of geometry.coordinates) addChains(parts, KIND.LINE, [line])
      break
    case 'Polygon':
      addChains(parts, KIND.POLYGON, geometry.coordinates)
      break
    case 'MultiPolygon':
      for (const rings of geometry.coordinates) addChains(parts, KIND.POLYGON, rings)
      break
    case 'GeometryCollection':
      for (const member of geometry.geometries) collect(member, parts)
  }
}

/** Adds a line or polygon. An empty one is dropped, and a line without length becomes a point. */
function addChains(parts: Part[], kind: number, chains: readonly (readonly Position[])[]): void {
  const size = chains.reduce((sum, chain) => sum + chain.length, 0)
  if (size === 0) return
  const [x, y] = chains[0]?.[0] ?? [0, 0]
  const isPoint = kind === KIND.LINE && chains[0]!.every((position) => position[0] === x && position[1] === y)
  parts.push(isPoint ? { kind: KIND.POINT, chains: [[[x, y]]], size: 1 } : { kind, chains, size })
}

/**
 * Sorts parts so that close ones are neighbours: Morton order of their first positions on a grid of 2^16 ×
 * 2^16 cells.
 */
function sortByPlace(parts: Part[]): void {
  const places = parts.map((part) => part.chains[0]![0]!)
  const xs = places.map((place) => place[0])
  const ys = places.map((place) => place[1])
  const [minX, maxX] = extent(xs)
  const [minY, maxY] = extent(ys)
  const scale = 65_535 / Math.max(maxX - minX, maxY - minY, Number.MIN_VALUE)
  const keyed = parts.map((part, index) => ({
    part,
    key: morton(Math.floor((xs[index]! - minX) * scale), Math.floor((ys[index]! - minY) * scale)),
  }))
  keyed.sort((a, b) => a.key - b.key)
  for (let index = 0; index < keyed.length; index++) parts[index] = keyed[index]!.part
}

/**
 * Returns the least and the greatest value. Not `Math.min(...values)`: a million arguments overflow the
 * stack.
 */
function extent(values: readonly number[]): [number, number] {
  let min = Infinity
  let max = -Infinity
  for (const value of values) {
    if (value < min) min = value
    if (value > max) max = value
  }
  return [min, max]
}

/** Interleaves the lower 16 bits of two integers. */
function morton(x: number, y: number): number {
  return (spread(x) | (spread(y) << 1)) >>> 0
}

/**
 * Puts a zero before each of 16 bits.
 *
 * @see S. E. Anderson, "Bit Twiddling Hacks", interleave bits by binary magic numbers
 */
function spread(value: number): number {
  let bits = value & 0xffff
  bits = (bits | (bits << 8)) & 0x00ff00ff
  bits = (bits | (bits << 4)) & 0x0f0f0f0f
  bits = (bits | (bits << 2)) & 0x33333333
  return (bits | (bits << 1)) & 0x55555555
}

/** Arrays of a shape while they are filled, at their largest possible size. */
interface Builder {
  nodeCount: number
  edgeCount: number
  positionCount: number
  readonly box: Float64Array
  readonly skip: Uint32Array
  readonly kind: Uint8Array
  readonly first: Uint32Array
  readonly last: Uint32Array
  readonly xy: Float64Array
  readonly startList: number[]
  readonly scale: ((degrees: number) => number) | undefined
}

function createBuilder(positionCount: number, partCount: number, scale: Builder['scale']): Builder {
  // halved leaves have more than LEAF_EDGES / 2 edges; short chains have one leaf each
  const maxNodes = 4 * partCount + positionCount
  return {
    nodeCount: 0,
    edgeCount: 0,
    positionCount: 0,
    box: new Float64Array(maxNodes * 4),
    skip: new Uint32Array(maxNodes),
    kind: new Uint8Array(maxNodes),
    first: new Uint32Array(maxNodes),
    last: new Uint32Array(maxNodes),
    xy: new Float64Array(positionCount * 2),
    startList: [],
    scale,
  }
}

/** Adds the parts `from` to `to`, in nested groups when they are many; a single part needs no group. */
function addGroup(builder: Builder, parts: readonly Part[], from: number, to: number): void {
  if (to - from === 0) return
  if (to - from === 1) {
    addPart(builder, parts[from]!)
    return
  }
  const node = openNode(builder, KIND.GROUP)
  if (to - from <= GROUP_PARTS) {
    for (let index = from; index < to; index++) addPart(builder, parts[index]!)
  } else {
    const middle = (from + to) >>> 1
    addGroup(builder, parts, from, middle)
    addGroup(builder, parts, middle, to)
  }
  closeOver(builder, node)
}

/**
 * Adds a part with its positions. Holes are runs like the outer ring: the even-odd rule needs no difference.
 */
function addPart(builder: Builder, part: Part): void {
  const node = openNode(builder, part.kind)
  for (const chain of part.chains) {
    const first = builder.positionCount
    const { xy, scale } = builder
    for (let at = 0; at < chain.length; at++) {
      const position = chain[at]!
      const place = builder.positionCount++ * 2
      xy[place] = scale === undefined ? position[0] : scale(position[0])
      xy[place + 1] = scale === undefined ? position[1] : scale(position[1])
    }
    const last = builder.positionCount - 1
    if (part.kind === KIND.POINT) {
      closeOnPositions(builder, node, first, last)
      return
    }
    if (last < first) continue
    builder.startList.push(first)
    builder.edgeCount += last - first
    addRun(builder, first, last)
  }
  closeOver(builder, node)
}

/**
 * Adds the positions `first` to `last` of one line or ring: a leaf when they are few, else a run of two
 * halves.
 */
function addRun(builder: Builder, first: number, last: number): void {
  if (last - first <= LEAF_EDGES) {
    closeOnPositions(builder, openNode(builder, KIND.LEAF), first, last)
    return
  }
  const node = openNode(builder, KIND.RUN)
  const middle = (first + last) >>> 1
  addRun(builder, first, middle)
  addRun(builder, middle, last) // the position in the middle ends one run and begins the next
  closeOver(builder, node)
  builder.first[node] = first
  builder.last[node] = last
}

/** Opens a node before its descendants; its box and skip are set when it is closed. */
function openNode(builder: Builder, kind: number): number {
  const node = builder.nodeCount++
  builder.kind[node] = kind
  return node
}

/** Closes a node without descendants, with the box around its positions. */
function closeOnPositions(builder: Builder, node: number, first: number, last: number): void {
  const { xy, box } = builder
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let at = first; at <= last; at++) {
    const x = xy[at * 2]!
    const y = xy[at * 2 + 1]!
    if (x < west) west = x
    if (x > east) east = x
    if (y < south) south = y
    if (y > north) north = y
  }
  box[node * 4] = west
  box[node * 4 + 1] = south
  box[node * 4 + 2] = east
  box[node * 4 + 3] = north
  builder.first[node] = first
  builder.last[node] = last
  builder.skip[node] = builder.nodeCount
}

/** Closes a node with the box around its children. */
function closeOver(builder: Builder, node: number): void {
  const { box, skip, nodeCount } = builder
  const at = node * 4
  box[at] = box[at + 1] = Infinity
  box[at + 2] = box[at + 3] = -Infinity
  for (let child = node + 1; child < nodeCount; child = skip[child]!) {
    box[at] = Math.min(box[at]!, box[child * 4]!)
    box[at + 1] = Math.min(box[at + 1]!, box[child * 4 + 1]!)
    box[at + 2] = Math.max(box[at + 2]!, box[child * 4 + 2]!)
    box[at + 3] = Math.max(box[at + 3]!, box[child * 4 + 3]!)
  }
  skip[node] = nodeCount
}
