import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Bbox } from '../../../geo/types.js'
import type { LoaderTable, Span } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { indexSql } from './ddl.js'
import { dayOf, NOWHERE, NOWHERE_BOX, readPacked } from './entries.js'

/** Row ids, ascending, each once. */
export type RowIds = Float64Array

/** Runs that are read between two yields. */
const RUNS_PER_STEP = 32
/** Number of ids from which on marking them in a bitmap is quicker than sorting. */
const BITMAP_FROM = 32_768

/**
 * Finds rows whose entry in the spatial index touches a box and overlaps a span: every matching row, and some
 * that do not match (entries are in single precision, and overwritten rows keep theirs). Yields after each
 * millisecond or so of work, so that the event loop can turn.
 *
 * @param box undefined for everywhere, rows without a location included
 * @param area in the box; leaves out entries whose boxes lie outside of it. The caller tests the rows with it
 * @returns row ids, ascending
 */
export function* findCandidates(
  db: Db,
  table: LoaderTable,
  box: Bbox | undefined,
  span: Span | undefined,
  area?: PreparedArea,
): Generator<undefined, RowIds> {
  const bounds = boundsOf(box, span)
  const list = statement<number>(
    db,
    `SELECT run_id FROM ${indexSql(table)} WHERE max_lng >= ? AND min_lng <= ? AND max_lat >= ? AND min_lat <= ?
     AND end_day >= ? AND start_day <= ?`,
  ).pluck()
  const read = statement<Uint8Array>(db, `SELECT entries FROM ${indexSql(table)} WHERE run_id = ?`).pluck()
  const found: IdList = { ids: new Float64Array(1024), count: 0, smallest: Infinity, largest: 0 }
  const seen = new Set<number>()
  for (let isWhole = false; !isWhole; ) {
    isWhole = true
    for (const run of list.all(...bounds)) {
      if (seen.has(run)) continue
      seen.add(run)
      const packed = read.get(run)
      if (packed !== undefined) collect(packed, bounds, area, found)
      else isWhole = false // merged into a newer run between two steps: the list of runs is read again
      if (seen.size % RUNS_PER_STEP === 0) yield
    }
  }
  return sortedOnce(found)
}

/** Finds rows as `findCandidates` does, and rows without a location. */
export function* findCandidatesOrNowhere(
  db: Db,
  table: LoaderTable,
  box: Bbox | undefined,
  span: Span | undefined,
  area?: PreparedArea,
): Generator<undefined, RowIds> {
  const found = yield* findCandidates(db, table, box, span, area)
  if (box === undefined) return found // everywhere includes them
  const nowhere = yield* findCandidates(db, table, NOWHERE_BOX, span)
  if (nowhere.length === 0) return found
  const both = new Float64Array(found.length + nowhere.length)
  both.set(found)
  both.set(nowhere, found.length)
  return sortIds(both) // a row whose location was removed has entries of both kinds
}

/** Finds rows as `findCandidates` does, without yielding: for threads that have nothing else to do. */
export function findCandidatesNow(
  db: Db,
  table: LoaderTable,
  box: Bbox | undefined,
  span: Span | undefined,
): RowIds {
  const steps = findCandidates(db, table, box, span)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

interface IdList {
  ids: Float64Array
  count: number
  smallest: number
  largest: number
}

type Bounds = [west: number, east: number, south: number, north: number, from: number, until: number]

/** Returns bounds in the order of the R*Tree's columns; without a span they include all times. */
function boundsOf(box: Bbox | undefined, span: Span | undefined): Bounds {
  const everywhere = NOWHERE * 2 // includes the box of rows without a location
  const [west, south, east, north] = box ?? [-everywhere, -everywhere, everywhere, everywhere]
  return [
    west,
    east,
    south,
    north,
    span === undefined ? -Infinity : dayOf(span.fromUs),
    span === undefined ? Infinity : dayOf(span.untilUs),
  ]
}

/** Adds the ids of a run's entries within the bounds: the inner loop of every search by area. */
function collect(packed: Uint8Array, bounds: Bounds, area: PreparedArea | undefined, found: IdList): void {
  const { ids, boxes, count } = readPacked(packed)
  const [west, east, south, north, from, until] = bounds
  if (found.count + count > found.ids.length) {
    const larger = new Float64Array(Math.max(found.ids.length * 2, found.count + count))
    larger.set(found.ids)
    found.ids = larger
  }
  // `boxes` is six arrays of `count` values: min and max longitude, min and max latitude, start and end day
  for (let at = 0; at < count; at++) {
    const minLng = boxes[at]!
    const maxLng = boxes[at + count]!
    const minLat = boxes[at + count * 2]!
    const maxLat = boxes[at + count * 3]!
    if (
      minLng <= east &&
      maxLng >= west &&
      minLat <= north &&
      maxLat >= south &&
      boxes[at + count * 4]! <= until &&
      boxes[at + count * 5]! >= from &&
      (area === undefined || area.mayIntersectBox(minLng, minLat, maxLng, maxLat))
    ) {
      const id = ids[at]!
      found.ids[found.count++] = id
      if (id > found.largest) found.largest = id
      if (id < found.smallest) found.smallest = id
    }
  }
}

/** Sorts the ids and removes duplicates: a row may have several entries, and segments overlap. */
function sortedOnce({ ids, count, smallest, largest }: IdList): RowIds {
  const isSparse = count < BITMAP_FROM || largest - smallest > count * 1024
  if (isSparse) return sortIds(ids.subarray(0, count))
  // bitmap of the ids, O(count + span / 8): cheaper than a sort when many ids lie close together
  const bits = new Uint8Array(((largest - smallest) >> 3) + 1)
  for (let at = 0; at < count; at++) {
    const id = ids[at]! - smallest
    bits[id >> 3] = bits[id >> 3]! | (1 << (id & 7))
  }
  let kept = 0
  for (let byte = 0; byte < bits.length; byte++) {
    // `rest & -rest` is the lowest bit set, `rest & (rest - 1)` removes it; `kept` never exceeds `count`
    for (let rest = bits[byte]!; rest !== 0; rest &= rest - 1) {
      ids[kept++] = smallest + byte * 8 + 31 - Math.clz32(rest & -rest)
    }
  }
  return ids.subarray(0, kept)
}

function sortIds(ids: Float64Array): Float64Array {
  ids.sort()
  let kept = 0
  for (let at = 0; at < ids.length; at++) {
    if (at === 0 || ids[at] !== ids[at - 1]) ids[kept++] = ids[at]!
  }
  return ids.subarray(0, kept)
}
