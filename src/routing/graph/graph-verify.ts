import { conditionWords } from './condition-words.js'
import { readShape } from './geometry.js'
import { type Graph, LINK_FLAG, NO_ARC } from './graph.js'
import { openJunctionTree, openSegmentTree } from './index-trees.js'
import { localScale } from './local-scale.js'
import { bytesOfStored, doubleAt, numbersOf, type Piece } from './paged.js'

/** Most faults reported. */
const MAX_FAULTS = 20
const MAX_LNG_E7 = 1_800_000_000
const MAX_LAT_E7 = 900_000_000
const MAX_UINT32 = 0xffffffff
/**
 * Tolerance of lengths, which are checked in the local plane of each part of a line. A ferry of 10 degrees is
 * a twentieth longer in the plane than on the ellipsoid.
 */
const LENGTH_TOLERANCE = 0.05
const LENGTH_SLACK_MM = 2

type Report = (fault: string) => void

/**
 * Checks the contents of a graph whose file could be read: finds what a faulty program, not a bad disk, would
 * write. Seconds for a large map.
 *
 * @param graph from `readGraph`, which has checked bounds and checksums
 * @returns at most 20 faults as text; empty for a sound map
 */
export function verifyGraph(graph: Graph): string[] {
  const faults: string[] = []
  const report = (fault: string) => {
    if (faults.length < MAX_FAULTS) faults.push(fault)
  }
  // each check is one pass over its arrays; all of them run, so that the report is complete
  verifyArcs(graph, report)
  verifyLinkArcs(graph, report)
  verifyLinks(graph, report)
  verifyJunctions(graph, report)
  verifyShapes(graph, report)
  verifyStrings(graph, report)
  return faults
}

/**
 * Checks that every arc drives an open link between the junctions of its nodes, and that arcs are sorted by
 * link.
 */
function verifyArcs(graph: Graph, report: Report): void {
  const timed = conditionWords(graph)
  const { nodeCount, firstOut, head, arcLink, nodeJunction, linkSpeed } = graph
  for (let node = 0; node < nodeCount; node++) {
    // arcs of a node ascend by link, and no link appears twice
    let last = -1
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const link = arcLink[arc]!
      if (linkSpeed[link] === 0 && !timed.links.has(link))
        report(`arc ${arc} drives link ${link}, which is closed`)
      if (linkJunction(graph, link, 0) !== nodeJunction[node])
        report(`arc ${arc} does not begin where link ${link} does`)
      if (linkJunction(graph, link, 1) !== nodeJunction[head[arc]!])
        report(`arc ${arc} does not end where link ${link} does`)
      // a link that is public at times and private at others has two arcs
      const isSecond = link === last && timed.arcs.has(arc)
      if (link <= last && !isSecond) report(`arc ${arc} of node ${node} is out of order`)
      last = link
    }
  }
}

/** Returns the junction where a link begins (side 0) or ends (side 1). */
function linkJunction({ segmentTail, segmentHead }: Graph, link: number, side: number): number {
  // even links run from tail to head: bit 0 of the link and the side each swap the two ends
  return ((link ^ side) & 1) === 0 ? segmentTail[link >>> 1]! : segmentHead[link >>> 1]!
}

/** Checks that the arcs listed for a link are those that drive it, ascending. */
function verifyLinkArcs(graph: Graph, report: Report): void {
  const { segmentCount, arcLink } = graph
  const linkFirstArc = numbersOf(graph.linkFirstArc)
  const linkArcs = numbersOf(graph.linkArcs)
  for (let link = 0; link < segmentCount * 2; link++) {
    let last = -1
    for (let at = linkFirstArc[link]!; at < linkFirstArc[link + 1]!; at++) {
      const arc = linkArcs[at]!
      if (arcLink[arc] !== link) report(`arc ${arc} is listed for link ${link} but drives ${arcLink[arc]}`)
      if (arc <= last) report(`the arcs of link ${link} are out of order`)
      last = arc
    }
  }
}

/** Checks flags, the main network and lengths, and that every segment has a drivable direction. */
function verifyLinks(graph: Graph, report: Report): void {
  const { segmentCount, linkSpeed, linkStartArc, linkFlags, segmentLengthMm } = graph
  const { links: timed } = conditionWords(graph)
  for (let link = 0; link < segmentCount * 2; link++) {
    const entry = linkFlags[link]! & (LINK_FLAG.FROM_PUBLIC | LINK_FLAG.PRIVATE)
    if (entry === LINK_FLAG.FROM_PUBLIC)
      report(`link ${link} has flags ${linkFlags[link]}: the price of a private road, but it is public`)
    if (linkStartArc[link] === NO_ARC && (linkFlags[link]! & LINK_FLAG.MAIN) !== 0) {
      report(`link ${link} is closed but belongs to the main network`)
    }
    const isClosed = linkSpeed[link] === 0 && linkSpeed[link + 1] === 0
    if ((link & 1) === 0 && isClosed && !timed.has(link) && !timed.has(link + 1)) {
      report(`segment ${link >>> 1} is closed in both directions`)
    }
    // the largest length that fits: longer than the circumference of the earth
    if (segmentLengthMm[link >>> 1] === MAX_UINT32) report(`segment ${link >>> 1} has a length out of range`)
  }
}

/** Checks coordinates and OSM ids, and that the junction index lists every junction with its coordinates. */
function verifyJunctions(graph: Graph, report: Report): void {
  const { junctionCount, junctionLngE7, junctionLatE7 } = graph
  for (let junction = 0; junction < junctionCount; junction++) {
    const isOnEarth =
      Math.abs(junctionLngE7[junction]!) <= MAX_LNG_E7 && Math.abs(junctionLatE7[junction]!) <= MAX_LAT_E7
    if (!isOnEarth) report(`junction ${junction} lies outside the earth`)
    if (!Number.isSafeInteger(doubleAt(graph.junctionOsmId, junction)))
      report(`junction ${junction} has no OSM id`)
  }
  const tree = openJunctionTree(graph)
  if (tree === undefined) {
    report('the junction index is not a kdbush 4 index of the junctions')
    return
  }
  // the index must be a permutation: as many entries as junctions, and none missing
  const isListed = new Uint8Array(junctionCount)
  for (let at = 0; at < junctionCount; at++) {
    const junction = tree.ids[at]!
    isListed[junction] = 1
    const isThere =
      tree.coords[at * 2] === junctionLngE7[junction] && tree.coords[at * 2 + 1] === junctionLatE7[junction]
    if (!isThere) report(`the junction index has other coordinates for junction ${junction}`)
  }
  const missing = isListed.indexOf(0)
  if (missing >= 0) report(`the junction index lacks junction ${missing}`)
}

/**
 * Checks that geometry decodes to coordinates on earth, has the segment's length, and fits the box of the
 * index.
 */
function verifyShapes(graph: Graph, report: Report): void {
  const { segmentCount, segmentLengthMm } = graph
  const boxes = leafBoxes(graph, report)
  for (let segment = 0; segment < segmentCount; segment++) {
    // decoded here without `readLine`, which trusts the bytes
    const shape = measureShape(graph, segment)
    if (shape === undefined) {
      report(`the geometry of segment ${segment} does not decode`)
      continue
    }
    const lengthMm = segmentLengthMm[segment]!
    // the slack covers rounding, which weighs more in short segments
    const isLong = Math.abs(shape.lengthMm - lengthMm) <= lengthMm * LENGTH_TOLERANCE + LENGTH_SLACK_MM
    if (!isLong)
      report(`segment ${segment} is ${Math.round(shape.lengthMm)} mm long, expected ${lengthMm} mm`)
    if (shape.box.some((value, side) => value !== boxes[segment * 4 + side])) {
      report(`the segment index has another box for segment ${segment}`)
    }
  }
}

/** Returns segment → its box in the index. */
function leafBoxes(graph: Graph, report: Report): Int32Array {
  const boxes = new Int32Array(graph.segmentCount * 4)
  const tree = openSegmentTree(graph)
  if (tree === undefined) {
    report('the segment index is not a flatbush 3 index of the segments')
    return boxes
  }
  const isListed = new Uint8Array(graph.segmentCount)
  for (let at = 0; at < graph.segmentCount; at++) {
    const segment = tree.indices[at]!
    isListed[segment] = 1
    // leaves are in the order of the index, boxes are returned by segment
    boxes.set(tree.boxes.subarray(at * 4, at * 4 + 4), segment * 4)
  }
  const missing = isListed.indexOf(0)
  if (missing >= 0) report(`the segment index lacks segment ${missing}`)
  verifyBranches(tree.boxes, tree.levelEnds, tree.nodeSize, report)
  return boxes
}

/** Checks that the box of a branch is the box around its children. */
function verifyBranches(
  boxes: Int32Array,
  levelEnds: readonly number[],
  nodeSize: number,
  report: Report,
): void {
  // branches of a level follow each other, and so do their children in the level below
  let child = 0
  for (let level = 0; level + 1 < levelEnds.length; level++) {
    for (let branch = levelEnds[level]!; branch < levelEnds[level + 1]!; branch++) {
      // west, south, east, north; beyond all coordinates, so that the first child replaces it
      const box = [MAX_UINT32, MAX_UINT32, -MAX_UINT32, -MAX_UINT32]
      for (const end = Math.min(child + nodeSize, levelEnds[level]!); child < end; child++) {
        for (let side = 0; side < 4; side++) {
          const value = boxes[child * 4 + side]!
          box[side] = side < 2 ? Math.min(box[side]!, value) : Math.max(box[side]!, value)
        }
      }
      if (box.some((value, side) => value !== boxes[branch * 4 + side])) {
        report(`the segment index has a wrong box at branch ${branch}`)
      }
    }
  }
}

/** Returns undefined when a number does not end inside the geometry, or a coordinate is out of range. */
function measureShape(
  graph: Graph,
  segment: number,
): { lengthMm: number; box: [number, number, number, number] } | undefined {
  const { junctionLngE7, junctionLatE7 } = graph
  const tail = graph.segmentTail[segment]!
  const head = graph.segmentHead[segment]!
  const piece: Piece = { bytes: new Uint8Array(0), at: 0 }
  const size = readShape(graph, segment, piece)
  const { bytes: geometry, at } = piece
  const cursor = { at, end: at + size }
  let lng = junctionLngE7[tail]!
  let lat = junctionLatE7[tail]!
  const box: [number, number, number, number] = [lng, lat, lng, lat]
  let lengthM = 0
  // one round a corner after the tail: inner corners are deltas, the last one is the head
  for (let isLast = false; !isLast; ) {
    isLast = cursor.at >= cursor.end
    const nextLng: number = isLast ? junctionLngE7[head]! : lng + readDelta(geometry, cursor)
    const nextLat: number = isLast ? junctionLatE7[head]! : lat + readDelta(geometry, cursor)
    // also false for NaN
    if (!(Math.abs(nextLng) <= MAX_LNG_E7 && Math.abs(nextLat) <= MAX_LAT_E7)) return undefined
    const scale = localScale((lat + nextLat) / 2)
    lengthM += Math.hypot((nextLng - lng) * scale.lngM, (nextLat - lat) * scale.latM)
    lng = nextLng
    lat = nextLat
    box[0] = Math.min(box[0], lng)
    box[1] = Math.min(box[1], lat)
    box[2] = Math.max(box[2], lng)
    box[3] = Math.max(box[3], lat)
  }
  return { lengthMm: lengthM * 1000, box }
}

/** Reads a zigzag varint. @returns NaN when it does not end inside the geometry */
function readDelta(geometry: Uint8Array, cursor: { at: number; end: number }): number {
  let bits = 0
  // 32 bits take five bytes of seven bits; a longer number is damaged
  for (let shift = 0; shift < 35 && cursor.at < cursor.end; shift += 7) {
    const byte = geometry[cursor.at++]!
    bits |= (byte & 0x7f) << shift
    if (byte < 0x80) return (bits >>> 1) ^ -(bits & 1)
  }
  return Number.NaN
}

/** Checks that names and notes are UTF-8. */
function verifyStrings(graph: Graph, report: Report): void {
  const strings = bytesOfStored(graph.strings)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const view = new DataView(strings.buffer, strings.byteOffset, strings.byteLength)
  const offsets = new Set<number>()
  // each distinct string is decoded once: many segments share a name
  for (const offset of numbersOf(graph.segmentName)) offsets.add(offset)
  for (const offset of numbersOf(graph.linkNotes)) offsets.add(offset)
  for (const offset of offsets) {
    try {
      decoder.decode(strings.slice(offset + 4, offset + 4 + view.getUint32(offset, true)))
    } catch {
      report(`the string at ${offset} is not UTF-8`)
    }
  }
}
