import type { Bbox, Geometry, Position } from './types.js'

/** What a node of a shape's tree stands for. */
export const KIND = {
  /** several parts */
  GROUP: 0,
  POINT: 1,
  LINE: 2,
  /** rings follow as runs */
  POLYGON: 3,
  /** consecutive positions of one line or ring, more than a leaf's worth */
  RUN: 4,
  /** the same, to be looked at position by position */
  LEAF: 5,
} as const

/**
 * A geometry made ready for exact questions: flat coordinates under a tree of boxes.
 *
 * Nodes stand in pre-order, and `skip` of a node is the first node after everything below it, so a search is one loop
 * without a stack: `node = touches(node) ? node + 1 : skip[node]`. Lines and rings are halved until a run is short;
 * consecutive positions lie close together, so no sorting is needed. Parts are put in Morton order first.
 */
export interface Shape {
  readonly nodeCount: number
  /** node → west, south, east, north */
  readonly box: Float64Array
  readonly skip: Uint32Array
  readonly kind: Uint8Array
  /** node → its first and last position (both included), counted in `xy` */
  readonly first: Uint32Array
  readonly last: Uint32Array
  readonly xy: Float64Array
  /** first position of each line and ring: one place of every connected piece that is not a point */
  readonly starts: Uint32Array
  readonly pointCount: number
  readonly lineCount: number
  readonly polygonCount: number
  readonly edgeCount: number
  /** undefined when the geometry is empty */
  readonly bbox: Bbox | undefined
}

/** Edges that are looked at one by one: fewer would make more boxes than they save comparisons. */
const LEAF_EDGES = 8
/** Parts below one box, before the box above them is halved. */
const GROUP_PARTS = 4

/**
 * Makes a shape; the geometry must be valid (rings closed, finite coordinates). Heights are ignored.
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
  const { box, nodeCount } = builder
  return {
    ...builder,
    starts: Uint32Array.from(builder.startList),
    pointCount: count(KIND.POINT),
    lineCount: count(KIND.LINE),
    polygonCount: count(KIND.POLYGON),
    bbox: nodeCount === 0 ? undefined : [box[0]!, box[1]!, box[2]!, box[3]!],
  }
}

/** A point, a line, or a polygon with its rings. */
interface Part {
  kind: number
  chains: readonly (readonly Position[])[]
  size: number
}

/** Takes a geometry apart; collections and multi-geometries disappear, so every question knows three kinds of things. */
function collect(geometry: Geometry, parts: Part[]): void {
  switch (geometry.type) {
    case 'Point':
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

/** An empty line or polygon is no part, and a line without length is a point. */
function addChains(parts: Part[], kind: number, chains: readonly (readonly Position[])[]): void {
  const size = chains.reduce((sum, chain) => sum + chain.length, 0)
  if (size === 0) return
  const [x, y] = chains[0]?.[0] ?? [0, 0]
  const isPoint = kind === KIND.LINE && chains[0]!.every((position) => position[0] === x && position[1] === y)
  parts.push(isPoint ? { kind: KIND.POINT, chains: [[[x, y]]], size: 1 } : { kind, chains, size })
}

/** Near parts get near places in the list: Morton order of their first positions on a grid of 2^16 cells a side. */
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

/** Not `Math.min(...values)`: a million arguments overflow the stack. */
function extent(values: readonly number[]): [number, number] {
  let min = Infinity
  let max = -Infinity
  for (const value of values) {
    if (value < min) min = value
    if (value > max) max = value
  }
  return [min, max]
}

/** Interleaves the bits of two 16-bit integers; values outside are cut to 16 bits. */
export function morton(x: number, y: number): number {
  return (spread(x) | (spread(y) << 1)) >>> 0
}

/** Puts a zero between each two bits. @see S. E. Anderson, "Bit Twiddling Hacks", interleaving by binary magic numbers */
function spread(value: number): number {
  let bits = value & 0xffff
  bits = (bits | (bits << 8)) & 0x00ff00ff
  bits = (bits | (bits << 4)) & 0x0f0f0f0f
  bits = (bits | (bits << 2)) & 0x33333333
  return (bits | (bits << 1)) & 0x55555555
}

/** The arrays of a shape while they are filled, at the largest size that they can come to. */
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
  // halving keeps every leaf above LEAF_EDGES / 2 edges save in short chains, which have one node of their own
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

/** Parts `from` to `to`, in groups of groups when there are many; a single part needs no group above it. */
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

/** A part with its positions. Holes stand beside the outer ring: inside and outside are told by counting all crossings. */
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

/** Positions `first` to `last` of one line or ring: a leaf when they are few, else two halves below a node of their own. */
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

/** A node is numbered before what is below it; its box and skip are known when that is done. */
function openNode(builder: Builder, kind: number): number {
  const node = builder.nodeCount++
  builder.kind[node] = kind
  return node
}

/** Box around positions; nothing is below. */
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

/** Box around the boxes below. */
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
