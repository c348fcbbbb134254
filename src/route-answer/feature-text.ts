import { createFlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import type { Graph } from '../routing/graph/graph.js'
import { readNotes, stringRange } from '../routing/graph/strings.js'
import { isBackward, segmentOf } from '../routing/graph/topology.js'
import { hours } from '../routing/search/cost.js'
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
import { findLinkText, keepLinkText, type LinkTexts, linkTextsOf } from './link-texts.js'

/** Scratch of the answer in work: calls never overlap. */
const text = createByteText()
const flat = createFlatLine()
/** positions of the feature in work: lng, lat, lng, lat … in 1e-7 degree */
let line = new Int32Array(128)

/** More than a feature's own words and numbers take. */
const FEATURE_BYTES = 400
/** `[-180.1234567,-90.1234567],` */
const POSITION_BYTES = 32
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
const TAIL = asciiOf('}}')

const COMMA = 0x2c
const ZERO = 0x30
const OPEN = 0x5b
const CLOSE = 0x5d

/**
 * JSON text of the features that `featuresOf` makes of a leg, with commas between them, written from the map's own
 * numbers: most of the time that an answer takes is its text, and objects in between would take three times as long.
 */
export function legText(graph: Graph, steps: Route['legs'][number]): string {
  const texts = linkTextsOf(graph)
  const last = steps.length - 1
  text.size = 0
  for (let i = 0; i < last; i++) {
    const step = steps[i]!
    if (isCommon(step)) writeCommon(graph, texts, step)
    else writeFeature(graph, step, false)
    text.bytes[text.size++] = COMMA
  }
  if (last >= 0) writeFeature(graph, steps[last]!, true)
  return takeText(text)
}

/** A whole link, and a level of one digit: nothing else in its text can change. */
function isCommon({ from, to, maxLevel }: DrivenStep): boolean {
  return from === undefined && to === undefined && maxLevel <= 9
}

/** Writes a feature that is no waypoint, from memory where its link was written before. */
function writeCommon(graph: Graph, texts: LinkTexts, step: DrivenStep): void {
  const slot = findLinkText(texts, step.link)
  if (slot < 0) {
    const from = text.size
    const riskAt = writeFeature(graph, step, false)
    keepLinkText(texts, step.link, text.bytes, from, text.size, riskAt)
    return
  }
  const size = texts.size[slot]!
  const begin = texts.begin[slot]! % texts.bytes.length
  reserveBytes(text, size + 1)
  text.bytes.set(texts.bytes.subarray(begin, begin + size), text.size)
  text.bytes[text.size + texts.riskAt[slot]!] = ZERO + step.maxLevel
  text.size += size
}

/** @see featureOf in answer.ts, which says what the numbers are @returns the place of the level of risk */
function writeFeature(graph: Graph, step: DrivenStep, isWaypoint: boolean): number {
  const { link, lengthMm } = step
  const segment = segmentOf(link)
  const speed = graph.linkSpeed[link]!
  const [nameFrom, nameEnd] = stringRange(graph, graph.segmentName[segment]!)
  readFlatLine(graph, segment, flat)
  reserveBytes(
    text,
    FEATURE_BYTES + (flat.corners + 2) * POSITION_BYTES + (nameEnd - nameFrom) * ESCAPED_BYTES,
  )
  let at = writeAscii(text, text.size, HEAD)
  at = writeLine(text, at, step)
  at = writeInteger(text, writeAscii(text, at, EDGE_ID), link)
  at = writeDecimal(text, writeAscii(text, at, LENGTH), lengthMm, 3, 1000)
  at = writeDecimal(text, writeAscii(text, at, SPEED), speed, 1, 10)
  const riskAt = writeAscii(text, at, RISK)
  at = writeInteger(text, riskAt, step.maxLevel)
  at = writeAscii(text, at, isWaypoint ? AT_WAYPOINT : ON_THE_WAY)
  at = writeNotes(graph, link, at)
  at = writeUtf8(text, writeAscii(text, at, NAME), graph.strings, nameFrom, nameEnd)
  at = writeTrillionths(text, writeAscii(text, at, TIME), Math.round(hours(lengthMm, speed) * 1e12))
  text.size = writeAscii(text, at, TAIL)
  return riskAt
}

/** The positions of `cutLine`, from the line in `flat`. */
function writeLine(into: ByteText, begin: number, { link, from, to }: DrivenStep): number {
  const { xy, corners } = flat
  let count = 0
  if (from !== undefined) count = addPosition(count, from.lngE7, from.latE7)
  if (isBackward(link)) {
    const last = to === undefined ? 0 : to.corner + 1
    for (let corner = from === undefined ? corners - 1 : from.corner; corner >= last; corner--) {
      count = addPosition(count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  } else {
    const last = to === undefined ? corners - 1 : to.corner
    for (let corner = from === undefined ? 0 : from.corner + 1; corner <= last; corner++) {
      count = addPosition(count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  }
  if (to !== undefined) count = addPosition(count, to.lngE7, to.latE7)
  if (count === 2) {
    line[2] = line[0]!
    line[3] = line[1]!
    count = 4
  }
  return writePositions(into.bytes, begin, count)
}

/** @returns numbers in `line` by now: a position equal to the last one is left out */
function addPosition(count: number, lngE7: number, latE7: number): number {
  if (count > 0 && line[count - 2] === lngE7 && line[count - 1] === latE7) return count
  if (count === line.length) {
    const grown = new Int32Array(count * 2)
    grown.set(line)
    line = grown
  }
  line[count] = lngE7
  line[count + 1] = latE7
  return count + 2
}

function writePositions(bytes: Uint8Array, begin: number, count: number): number {
  const positions = line
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

/** Few links have notes, so theirs may take longer. */
function writeNotes(graph: Graph, link: number, at: number): number {
  if (graph.linkNotes[link] === 0) return writeAscii(text, at, NO_NOTES)
  const notes = new TextEncoder().encode(JSON.stringify(readNotes(graph, link)))
  text.size = at
  reserveBytes(text, notes.length + FEATURE_BYTES)
  return writeAscii(text, at, notes)
}
