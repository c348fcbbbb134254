import { AppError } from '../../errors.js'
import { faultOfConditions } from './conditions-check.js'
import { type Graph, NO_ARC } from './graph.js'
import { openJunctionTree, openSegmentTree } from './index-trees.js'
import { LIMIT_ENTRY } from './limits.js'
import { bytesOfStored, numbersOf } from './paged.js'
import { MAX_TURN_PRICES } from './turn-costs.js'

/** Highest price of one turn: an hour, so that sums of prices stay far below every limit. */
const MAX_TURN_MS = 3_600_000

/**
 * Checks that no number of a graph points outside its array, so that searches need no bounds checks. One pass
 * over the arrays, about 15 ns a node.
 *
 * @throws AppError BAD_MAP_FILE naming the array and the position
 */
export function checkGraph(graph: Graph): void {
  const { junctionCount, segmentCount, nodeCount, arcCount } = graph
  const linkCount = segmentCount * 2
  if (junctionCount === 0 || segmentCount === 0 || nodeCount === 0) throw damaged('it contains no road')
  checkOffsets('firstOut', graph.firstOut, arcCount)
  checkOffsets('firstGeometry', numbersOf(graph.firstGeometry), graph.geometry.length)
  checkOffsets('linkFirstArc', numbersOf(graph.linkFirstArc), arcCount)
  // each array against the number of items that its values refer to
  checkBelow('head', graph.head, nodeCount)
  checkBelow('arcLink', graph.arcLink, linkCount)
  checkBelow('nodeJunction', graph.nodeJunction, junctionCount)
  checkBelow('segmentTail', graph.segmentTail, junctionCount)
  checkBelow('segmentHead', graph.segmentHead, junctionCount)
  checkBelow('linkArcs', numbersOf(graph.linkArcs), arcCount)
  checkStartArcs(graph)
  const strings = bytesOfStored(graph.strings)
  checkStrings('segmentName', numbersOf(graph.segmentName), strings)
  checkStrings('linkNotes', numbersOf(graph.linkNotes), strings)
  checkLimits(graph)
  checkTurnPrices(graph)
  checkSegmentIndex(graph)
  checkJunctionIndex(graph)
  checkMeta(graph)
  const fault = faultOfConditions(graph)
  if (fault !== undefined) throw damaged(fault)
}

/** Creates the error of a map file that cannot be used. */
export function badMapFile(
  reason: 'magic' | 'version' | 'short' | 'damaged',
  message: string,
  cause?: unknown,
): AppError {
  return new AppError('BAD_MAP_FILE', { reason }, { message, cause })
}

function damaged(what: string): Error {
  return badMapFile('damaged', `the map file is damaged: ${what}`)
}

/** Offsets begin at 0, never decrease and end at the length of the array they point into. */
function checkOffsets(name: string, offsets: Uint32Array, end: number): void {
  let last = 0
  if (offsets[0] !== 0) throw damaged(`${name}[0] is ${offsets[0]}, expected 0`)
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i]!
    if (offset < last) throw damaged(`${name}[${i}] is ${offset}, less than the one before it`)
    last = offset
  }
  if (last !== end) throw damaged(`${name} ends at ${last}, expected ${end}`)
}

/** Checks that every value is below a limit, the length of the array that it is an index of. */
function checkBelow(name: string, values: Uint32Array | Uint16Array | Uint8Array, limit: number): void {
  for (let i = 0; i < values.length; i++) {
    if (values[i]! >= limit) throw damaged(`${name}[${i}] is ${values[i]}, expected less than ${limit}`)
  }
}

/** Checks that the start arc of a link drives that link, and that a closed link has none. */
function checkStartArcs({ linkStartArc, linkSpeed, arcLink }: Graph): void {
  for (let link = 0; link < linkStartArc.length; link++) {
    const arc = linkStartArc[link]!
    const isDrivable = linkSpeed[link]! > 0
    // an arc out of range reads undefined, which equals no link
    if (isDrivable ? arcLink[arc] === link : arc === NO_ARC) continue
    throw damaged(`linkStartArc[${link}] is ${arc}, which is not an arc of link ${link}`)
  }
}

/** Checks that entries are whole, and their links ascending. */
function checkLimits({ limits, segmentCount }: Graph): void {
  if (limits === undefined) return
  if (limits.length % LIMIT_ENTRY !== 0)
    throw damaged(`limits has ${limits.length} numbers, expected ${LIMIT_ENTRY} a link`)
  for (let at = 0; at < limits.length; at += LIMIT_ENTRY) {
    const link = limits[at]!
    const isAscending = at === 0 || link > limits[at - LIMIT_ENTRY]!
    if (!isAscending || link >= segmentCount * 2)
      throw damaged(`limits[${at}] is ${link}, expected links in ascending order`)
  }
}

/** Checks that both sections are there or none, that prices ascend from 0, and that each arc has one. */
function checkTurnPrices({ turnPrices, arcTurn }: Graph): void {
  if (turnPrices === undefined && arcTurn === undefined) return
  if (turnPrices === undefined || arcTurn === undefined)
    throw damaged('it has one of the sections turnPrices and arcTurn, expected both or none')
  if (turnPrices[0] !== 0 || turnPrices.length > MAX_TURN_PRICES)
    throw damaged(
      `turnPrices has ${turnPrices.length} prices from ${turnPrices[0]} on, expected 1 to ${MAX_TURN_PRICES} from 0 on`,
    )
  for (let i = 1; i < turnPrices.length; i++) {
    const isInRange = turnPrices[i]! > turnPrices[i - 1]! && turnPrices[i]! <= MAX_TURN_MS
    if (!isInRange)
      throw damaged(`turnPrices[${i}] is ${turnPrices[i]}, expected ascending prices up to ${MAX_TURN_MS}`)
  }
  checkBelow('arcTurn', arcTurn, turnPrices.length)
}

/** Checks that a string (u32 length, then the bytes) begins at every offset and ends inside the pool. */
function checkStrings(name: string, offsets: Uint32Array, strings: Uint8Array): void {
  const view = new DataView(strings.buffer, strings.byteOffset, strings.byteLength)
  // offset 0 is the empty string: a length of 0 in four bytes
  if (strings.length < 4 || view.getUint32(0, true) !== 0)
    throw damaged('the string pool does not begin with the empty string')
  let last = 0
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i]!
    if (offset === last) continue // neighbours often have the same name
    if (offset + 4 > strings.length || offset + 4 + view.getUint32(offset, true) > strings.length) {
      throw damaged(`${name}[${i}] is ${offset}, where no string of the ${strings.length} bytes begins`)
    }
    last = offset
  }
}

/**
 * Checks that every branch points to its children where flatbush puts them, so that walking the tree ends.
 */
function checkSegmentIndex(graph: Graph): void {
  const tree = openSegmentTree(graph)
  if (tree === undefined) throw damaged('segmentIndex is not a flatbush 3 index of the segments')
  const { indices, levelEnds, nodeSize } = tree
  // leaves come first in the tree and hold segments
  for (let i = 0; i < graph.segmentCount; i++) {
    if (indices[i]! >= graph.segmentCount)
      throw damaged(`segmentIndex contains segment ${indices[i]}, expected less than ${graph.segmentCount}`)
  }
  // Children are consecutive, `nodeSize` for each branch; the last branch of a level has the rest. A branch
  // stores the position of its first child in `boxes`, 4 values a node.
  let child = 0
  for (let level = 0; level + 1 < levelEnds.length; level++) {
    for (let at = levelEnds[level]!; at < levelEnds[level + 1]!; at++) {
      if (indices[at] !== child * 4)
        throw damaged(`segmentIndex: branch ${at} does not point to its children`)
      child = Math.min(child + nodeSize, levelEnds[level]!)
    }
  }
}

/** Checks that the ids of the index are junctions. The k-d tree has no pointers that could form a circle. */
function checkJunctionIndex(graph: Graph): void {
  const tree = openJunctionTree(graph)
  if (tree === undefined) throw damaged('junctionIndex is not a kdbush 4 index of the junctions')
  checkBelow('junctionIndex', tree.ids, graph.junctionCount)
}

/** Checks the fields of the description that the program reads. */
function checkMeta({ meta }: Graph): void {
  const isMeta =
    typeof meta === 'object' &&
    meta !== null &&
    typeof meta.name === 'string' &&
    Array.isArray(meta.bbox) &&
    meta.bbox.length === 4 &&
    meta.bbox.every(Number.isFinite) &&
    (meta.area?.type === 'Polygon' || meta.area?.type === 'MultiPolygon') &&
    Array.isArray(meta.area.coordinates)
  if (!isMeta) throw damaged('its description has no name, area or bounding box')
}
