import { createFlatLine, type FlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import type { Graph } from '../routing/graph/graph.js'
import { readNotes, stringRange } from '../routing/graph/strings.js'
import { isBackward, segmentOf } from '../routing/graph/topology.js'
import { hours, MS_PER_HOUR } from '../routing/search/cost.js'
import type { DrivenStep, Route } from '../routing/search/route.js'
import {
  asciiOf,
  type ByteText,
  createByteText,
  reserveBytes,
  takeText,
  writeAscii,
  writeDecimal,
  writeE7,
  writeInteger,
  writeTrillionths,
  writeUtf8,
} from './byte-text.js'
import { cacheLinkText, findLinkText, type LinkTextCache, linkTextCacheOf } from './link-text-cache.js'

/** Scratch of the texts of legs, reused from leg to leg. */
export interface LegWriter {
  readonly text: ByteText
  /** line of the segment being written */
  readonly flat: FlatLine
  /** positions of the feature being written: lng, lat, lng, lat … in 1e-7 degree; grows */
  line: Int32Array
}

/** Creates the scratch: 68 kB, which grows with the longest leg. */
export function createLegWriter(): LegWriter {
  return { text: createByteText(), flat: createFlatLine(), line: new Int32Array(128) }
}

/** Upper bound of a feature's bytes without positions, name and notes. */
const FEATURE_BYTES = 464
/** Upper bound of a comma, and of what `addTurnCost` adds. */
const TURN_BYTES = 64
/** Upper bound of a position: `[-180.1234567,-90.1234567],`. */
const POSITION_BYTES = 32
/** Upper bound of one byte of a name: `\u0000`. */
const ESCAPED_BYTES = 6

const HEAD = asciiOf('{"type":"Feature","geometry":{"type":"LineString","coordinates":[')
const EDGE_ID = asciiOf(']},"properties":{"edge_id":')
const LENGTH = asciiOf(',"length":')
const SPEED = asciiOf(',"speed":')
const RISK = asciiOf(',"risk":')
const ON_THE_WAY = asciiOf(',"waypoint":false,"notes":')
const AT_WAYPOINT = asciiOf(',"waypoint":true,"notes":')
const NO_NOTES = asciiOf('[]')
const NAME = asciiOf(',"name":')
const TIME = asciiOf(',"time":')
const TURN_COST = asciiOf(',"turn_cost":')
const TAIL = asciiOf('}}')

const COMMA = 0x2c
const ZERO = 0x30
const OPEN = 0x5b
const CLOSE = 0x5d

/**
 * Writes the features that `featuresOf` makes of a leg, with commas between them, from the map's own numbers.
 * Most of the time of an answer goes into its text, and objects in between would take three times as long.
 *
 * @returns JSON text without brackets; 1 µs a link that is cached, some 3 µs otherwise
 */
export function legText(writer: LegWriter, graph: Graph, steps: Route['legs'][number]): string {
  const { text } = writer
  const cache = linkTextCacheOf(graph)
  const last = steps.length - 1
  text.size = 0
  for (let i = 0; i < last; i++) {
    const step = steps[i]!
    if (isCacheable(graph, step)) writeCached(writer, graph, cache, step)
    else {
      writeFeature(writer, graph, step, false)
      addTurnCost(text, step)
    }
    text.bytes[text.size++] = COMMA
  }
  if (last >= 0) {
    writeFeature(writer, graph, steps[last]!, true)
    addTurnCost(text, steps[last]!)
  }
  return takeText(text)
}

/**
 * Returns true for a whole link at its usual speed with a level of one digit: apart from that digit its text
 * never changes.
 */
function isCacheable({ linkSpeed }: Graph, { link, from, to, speed, maxLevel }: DrivenStep): boolean {
  return from === undefined && to === undefined && maxLevel <= 9 && speed === linkSpeed[link]
}

/** Writes a feature that is not a waypoint: copies its text when the link is cached, and sets the level. */
function writeCached(writer: LegWriter, graph: Graph, cache: LinkTextCache, step: DrivenStep): void {
  const { text } = writer
  const slot = findLinkText(cache, step.link)
  if (slot < 0) {
    const from = text.size
    // cached without the price of the turn, which depends on the link before
    const riskAt = writeFeature(writer, graph, step, false)
    cacheLinkText(cache, step.link, text.bytes.subarray(from, text.size), riskAt - from)
    addTurnCost(text, step)
    return
  }
  const size = cache.size[slot]!
  const begin = cache.begin[slot]! % cache.bytes.length
  reserveBytes(text, size + TURN_BYTES)
  text.bytes.set(cache.bytes.subarray(begin, begin + size), text.size)
  text.bytes[text.size + cache.riskAt[slot]!] = ZERO + step.maxLevel
  text.size += size
  addTurnCost(text, step)
}

/** Adds the price of the turn to the feature just written; nothing where it is 0. */
function addTurnCost(text: ByteText, { turnMs }: DrivenStep): void {
  if (turnMs === 0) return
  const at = writeAscii(text, text.size - TAIL.length, TURN_COST)
  text.size = writeAscii(text, writeTrillionths(text, at, Math.round((turnMs / MS_PER_HOUR) * 1e12)), TAIL)
}

/**
 * Writes one feature without the price of the turn, see `featureOf` in features.ts for its numbers.
 *
 * @returns offset of the level of risk
 */
function writeFeature(writer: LegWriter, graph: Graph, step: DrivenStep, isWaypoint: boolean): number {
  const { text, flat } = writer
  const { link, lengthMm, speed } = step
  const segment = segmentOf(link)
  const [nameFrom, nameEnd] = stringRange(graph, graph.segmentName[segment]!)
  readFlatLine(graph, segment, flat)
  reserveBytes(
    text,
    FEATURE_BYTES + (flat.corners + 2) * POSITION_BYTES + (nameEnd - nameFrom) * ESCAPED_BYTES,
  )
  let at = writeAscii(text, text.size, HEAD)
  at = writeLine(writer, at, step)
  at = writeInteger(text, writeAscii(text, at, EDGE_ID), link)
  at = writeDecimal(text, writeAscii(text, at, LENGTH), lengthMm, 3, 1000)
  at = writeDecimal(text, writeAscii(text, at, SPEED), speed, 1, 10)
  const riskAt = writeAscii(text, at, RISK)
  at = writeInteger(text, riskAt, step.maxLevel)
  at = writeAscii(text, at, isWaypoint ? AT_WAYPOINT : ON_THE_WAY)
  at = writeNotes(text, graph, link, at)
  at = writeUtf8(text, writeAscii(text, at, NAME), graph.strings, nameFrom, nameEnd)
  at = writeTrillionths(text, writeAscii(text, at, TIME), Math.round(hours(lengthMm, speed) * 1e12))
  text.size = writeAscii(text, at, TAIL)
  return riskAt
}

/** Writes the positions that `cutLine` returns, from the line in `flat`. @returns offset behind them */
function writeLine(writer: LegWriter, begin: number, { link, from, to }: DrivenStep): number {
  const { xy, corners } = writer.flat
  let count = 0
  if (from !== undefined) count = addPosition(writer, count, from.lngE7, from.latE7)
  if (isBackward(link)) {
    const last = to === undefined ? 0 : to.corner + 1
    for (let corner = from === undefined ? corners - 1 : from.corner; corner >= last; corner--) {
      count = addPosition(writer, count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  } else {
    const last = to === undefined ? corners - 1 : to.corner
    for (let corner = from === undefined ? 0 : from.corner + 1; corner <= last; corner++) {
      count = addPosition(writer, count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  }
  if (to !== undefined) count = addPosition(writer, count, to.lngE7, to.latE7)
  const { line, text } = writer
  if (count === 2) {
    // a line of length 0 has its position twice
    line[2] = line[0]!
    line[3] = line[1]!
    count = 4
  }
  return writePositions(text.bytes, begin, line, count)
}

/** Adds a position unless it equals the last one. @returns numbers in `line` */
function addPosition(writer: LegWriter, count: number, lngE7: number, latE7: number): number {
  let { line } = writer
  if (count > 0 && line[count - 2] === lngE7 && line[count - 1] === latE7) return count
  if (count === line.length) {
    const grown = new Int32Array(count * 2)
    grown.set(line)
    writer.line = line = grown
  }
  line[count] = lngE7
  line[count + 1] = latE7
  return count + 2
}

/** @param positions the first `count` numbers: lng, lat, lng, lat … in 1e-7 degree */
function writePositions(bytes: Uint8Array, begin: number, positions: Int32Array, count: number): number {
  let at = begin
  for (let i = 0; i < count; i += 2) {
    if (i > 0) bytes[at++] = COMMA
    bytes[at++] = OPEN
    at = writeE7(bytes, at, positions[i]!)
    bytes[at++] = COMMA
    at = writeE7(bytes, at, positions[i + 1]!)
    bytes[at++] = CLOSE
  }
  return at
}

/** Writes the notes of a link through objects: few links have any. */
function writeNotes(text: ByteText, graph: Graph, link: number, at: number): number {
  if (graph.linkNotes[link] === 0) return writeAscii(text, at, NO_NOTES)
  const notes = new TextEncoder().encode(JSON.stringify(readNotes(graph, link)))
  text.size = at
  reserveBytes(text, notes.length + FEATURE_BYTES)
  return writeAscii(text, at, notes)
}
