import { createFlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import type { Graph } from '../routing/graph/graph.js'
import { isZeroAt, numberAt } from '../routing/graph/paged.js'
import { readNotes, readStringBytes } from '../routing/graph/strings.js'
import { segmentOf } from '../routing/graph/topology.js'
import { hours, MS_PER_HOUR } from '../routing/search/cost.js'
import type { DrivenStep, Route } from '../routing/search/route.js'
import {
  asciiOf,
  type ByteText,
  createByteText,
  reserveBytes,
  writeAscii,
  writeDecimal,
  writeInteger,
  writeTrillionths,
  writeUtf8,
} from './byte-text.js'
import { type RouteTotals, sumOf } from './features.js'
import {
  addFlatLine,
  addStepLine,
  closeLine,
  type LineScratch,
  POSITION_BYTES,
  writePolyline6,
  writePositions,
} from './line-text.js'
import { cacheLinkText, findLinkText, type LinkTextCache, linkTextCacheOf } from './link-text-cache.js'

/** Text of an answer and scratch of its lines, reused from answer to answer. */
export interface LegWriter extends LineScratch {
  readonly text: ByteText
}

/** Form of lines: positions of GeoJSON, an encoded polyline in the properties, or nothing. */
export type GeometryForm = 'geojson' | 'polyline6' | 'none'

/** Shape of the features of an answer. */
export interface RouteShape {
  readonly geometry: GeometryForm
  /** a feature for each link; false: one for each leg */
  readonly perArc: boolean
}

/** Creates an empty one: 68 kB, which grows with the longest answer. */
export function createLegWriter(): LegWriter {
  return { text: createByteText(), flat: createFlatLine(), line: new Int32Array(128) }
}

/** Upper bound of a feature's bytes without positions, name and notes. */
const FEATURE_BYTES = 464
/** Upper bound of a comma, and of what `addTurnCost` adds. */
const TURN_BYTES = 64
/** Upper bound of one byte of a name: `\u0000`. */
const ESCAPED_BYTES = 6

const HEAD = asciiOf('{"type":"Feature","geometry":{"type":"LineString","coordinates":[')
const PROPERTIES = asciiOf(']},"properties":{')
const HEAD_WITHOUT_LINE = asciiOf('{"type":"Feature","geometry":null,"properties":{')
const EDGE_ID = asciiOf('"edge_id":')
const POLYLINE6 = asciiOf(',"polyline6":"')
const POLYLINE6_END = asciiOf('"')
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

/**
 * Writes the features that `featuresOf` makes of a leg, with commas between them, from the map's own numbers.
 * Most of the time of an answer goes into its text, and objects in between would take three times as long.
 *
 * JSON text without brackets, added to the text of `writer`: 1 µs a link that is cached, some 3 µs otherwise.
 *
 * @param geometry form of their lines
 */
export function writeLeg(
  writer: LegWriter,
  graph: Graph,
  steps: Route['legs'][number],
  geometry: GeometryForm = 'geojson',
): void {
  const { text } = writer
  const cache = linkTextCacheOf(graph)
  const last = steps.length - 1
  for (let i = 0; i < last; i++) {
    const step = steps[i]!
    if (geometry === 'geojson' && isCacheable(graph, step)) writeCached(writer, graph, cache, step)
    else {
      writeFeature(writer, graph, step, { isWaypoint: false, geometry })
      addTurnCost(text, step)
    }
    text.bytes[text.size++] = COMMA
  }
  if (last >= 0) {
    writeFeature(writer, graph, steps[last]!, { isWaypoint: true, geometry })
    addTurnCost(text, steps[last]!)
  }
}

/** Properties of a leg as one feature, in wire names. Lengths in metres, times in hours. */
interface LegProperties extends RouteTotals {
  /** position of the leg in the order of travel, from 0 */
  leg: number
  waypoint: true
}

/**
 * Adds a leg as one feature: its sums, and the line of all its links.
 *
 * @param leg position of the leg in the order of travel, from 0
 */
export function writeWholeLeg(
  writer: LegWriter,
  graph: Graph,
  steps: Route['legs'][number],
  leg: number,
  geometry: GeometryForm,
): void {
  const { text } = writer
  const sums: LegProperties = { leg, ...sumOf(steps), waypoint: true }
  const properties = asciiOf(JSON.stringify(sums).slice(1, -1))
  let count = 0
  if (geometry !== 'none') for (const step of steps) count = addStepLine(writer, graph, step, count)
  count = closeLine(writer, count)
  reserveBytes(text, FEATURE_BYTES + properties.length + (count / 2) * POSITION_BYTES)
  let at = writeHead(writer, text.size, count, geometry)
  at = writeAscii(text, at, properties)
  at = writePolyline(writer, at, count, geometry)
  text.size = writeAscii(text, at, TAIL)
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
    const riskAt = writeFeature(writer, graph, step, { isWaypoint: false, geometry: 'geojson' })
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
function writeFeature(
  writer: LegWriter,
  graph: Graph,
  step: DrivenStep,
  { isWaypoint, geometry }: { isWaypoint: boolean; geometry: GeometryForm },
): number {
  const { text, flat } = writer
  const { link, lengthMm, speed } = step
  const segment = segmentOf(link)
  const name = readStringBytes(graph, numberAt(graph.segmentName, segment))
  let count = 0
  if (geometry !== 'none') {
    readFlatLine(graph, segment, flat)
    count = closeLine(writer, addFlatLine(writer, step, 0))
  }
  reserveBytes(text, FEATURE_BYTES + (count / 2) * POSITION_BYTES + name.length * ESCAPED_BYTES)
  let at = writeHead(writer, text.size, count, geometry)
  at = writeInteger(text, writeAscii(text, at, EDGE_ID), link)
  at = writeDecimal(text, writeAscii(text, at, LENGTH), lengthMm, 3, 1000)
  at = writeDecimal(text, writeAscii(text, at, SPEED), speed, 1, 10)
  const riskAt = writeAscii(text, at, RISK)
  at = writeInteger(text, riskAt, step.maxLevel)
  at = writeAscii(text, at, isWaypoint ? AT_WAYPOINT : ON_THE_WAY)
  at = writeNotes(text, graph, link, at)
  at = writeUtf8(text, writeAscii(text, at, NAME), name, 0, name.length)
  at = writeTrillionths(text, writeAscii(text, at, TIME), Math.round(hours(lengthMm, speed) * 1e12))
  at = writePolyline(writer, at, count, geometry)
  text.size = writeAscii(text, at, TAIL)
  return riskAt
}

/** Writes a feature up to its properties, with the line in `line` where it is GeoJSON. */
function writeHead({ text, line }: LegWriter, begin: number, count: number, geometry: GeometryForm): number {
  if (geometry !== 'geojson') return writeAscii(text, begin, HEAD_WITHOUT_LINE)
  const at = writePositions(text.bytes, writeAscii(text, begin, HEAD), line, count)
  return writeAscii(text, at, PROPERTIES)
}

/** Writes the line in `line` as a property, where it is a polyline. */
function writePolyline(
  { text, line }: LegWriter,
  begin: number,
  count: number,
  geometry: GeometryForm,
): number {
  if (geometry !== 'polyline6') return begin
  const at = writePolyline6(text.bytes, writeAscii(text, begin, POLYLINE6), line, count)
  return writeAscii(text, at, POLYLINE6_END)
}

/** Writes the notes of a link through objects: few links have any. */
function writeNotes(text: ByteText, graph: Graph, link: number, at: number): number {
  if (isZeroAt(graph.linkNotes, link)) return writeAscii(text, at, NO_NOTES)
  const notes = new TextEncoder().encode(JSON.stringify(readNotes(graph, link)))
  text.size = at
  reserveBytes(text, notes.length + FEATURE_BYTES)
  return writeAscii(text, at, notes)
}
