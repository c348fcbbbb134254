import { HILBERT_SIDE, hilbert } from '../../../geo/hilbert.js'
import { type Entries, NOWHERE } from './entries.js'

/**
 * Most rows of one run. An insert into the R*Tree costs about 25 µs, 0.1 µs a row for runs of 256; a search
 * reads a run in about 1 µs.
 */
export const RUN_ROWS = 256
/** Fewest rows per time span, on average, for which each span gets runs of its own. */
const SLOT_ROWS = 64

/** Entries in the order of runs: run k is `order[cuts[k]] … order[cuts[k + 1] - 1]`. */
export interface Runs {
  readonly order: Uint32Array
  readonly cuts: readonly number[]
}

/**
 * Groups entries that are close together into runs: along a Hilbert curve over their extent, and by time span
 * when few spans hold many rows (risk maps: one span, thousands of cells). Rows without a location are in
 * runs of their own.
 *
 * @see I. Kamel, C. Faloutsos, "On packing R-trees", 1993
 */
export function cutRuns(entries: Entries): Runs {
  const order = new Uint32Array(entries.count)
  const cuts: number[] = []
  let at = 0
  for (const group of groupsOf(entries)) {
    if (group.length > RUN_ROWS) sortAlongCurve(entries, group) // a run that holds all of a group needs no order
    order.set(group, at)
    for (let cut = 0; cut < group.length; cut += RUN_ROWS) cuts.push(at + cut)
    at += group.length
  }
  cuts.push(at)
  return { order, cuts }
}

/**
 * Returns minimum and maximum of the boxes and days of some entries, in the order of the R*Tree's columns.
 */
export function boundsOf(entries: Entries, order: Uint32Array, from: number, to: number): number[] {
  const bounds = [Infinity, -Infinity, Infinity, -Infinity, Infinity, -Infinity]
  const lows = [entries.minLng, entries.minLat, entries.startDay]
  const highs = [entries.maxLng, entries.maxLat, entries.endDay]
  for (let axis = 0; axis < 3; axis++) {
    const low = lows[axis]!
    const high = highs[axis]!
    let min = Infinity
    let max = -Infinity
    for (let at = from; at < to; at++) {
      const entry = order[at]!
      min = Math.min(min, low[entry]!)
      max = Math.max(max, high[entry]!)
    }
    bounds[axis * 2] = min
    bounds[axis * 2 + 1] = max
  }
  return bounds
}

/** Returns the positions of entries by group; a run holds entries of one group. */
function groupsOf(entries: Entries): Uint32Array[] {
  const slots = countSlots(entries)
  const groupCount = slots === undefined ? 2 : slots.size
  const groupOf = slots === undefined ? placedOrNot : slotNumber(slots)
  const sizes = new Uint32Array(groupCount)
  for (let at = 0; at < entries.count; at++) increment(sizes, groupOf(entries, at))
  const groups = Array.from(sizes, (size) => new Uint32Array(size))
  // counting sort, O(entries): the counts become the next free place of each group
  sizes.fill(0)
  for (let at = 0; at < entries.count; at++) {
    const group = groupOf(entries, at)
    const members = groups[group]!
    members[increment(sizes, group)] = at
  }
  return groups.filter((group) => group.length > 0)
}

/** Increments an element and returns its former value. */
function increment(counts: Uint32Array, at: number): number {
  const before = counts[at]!
  counts[at] = before + 1
  return before
}

function placedOrNot(entries: Entries, at: number): number {
  return entries.minLng[at] === NOWHERE ? 1 : 0
}

/**
 * Returns the number of rows by time span when few spans hold many rows and all rows have a location; else
 * undefined.
 */
function countSlots(entries: Entries): Map<number, number> | undefined {
  const most = Math.floor(entries.count / SLOT_ROWS)
  const counts = new Map<number, number>()
  for (let at = 0; at < entries.count; at++) {
    if (entries.minLng[at] === NOWHERE) return undefined
    const slot = slotOf(entries, at)
    counts.set(slot, (counts.get(slot) ?? 0) + 1)
    // ends early: on average a span has fewer rows than `SLOT_ROWS`
    if (counts.size > most) return undefined
  }
  return counts.size > 1 ? counts : undefined
}

/** Returns a number for a time span. Two spans with the same number share runs, which costs time only. */
function slotOf(entries: Entries, at: number): number {
  return entries.startDay[at]! * 4_194_303 + entries.endDay[at]!
}

function slotNumber(slots: ReadonlyMap<number, number>): (entries: Entries, at: number) => number {
  const numbers = new Map([...slots.keys()].map((slot, number) => [slot, number]))
  return (entries, at) => numbers.get(slotOf(entries, at))!
}

/** Sorts a group in place by the Hilbert value of each box's centre. */
function sortAlongCurve(entries: Entries, group: Uint32Array): void {
  const [west = 0, east = 0, south = 0, north = 0] = boundsOf(entries, group, 0, group.length)
  // cells for each degree; 0 when all boxes share one longitude
  const scaleX = east > west ? LAST_CELL / (east - west) : 0
  const scaleY = north > south ? LAST_CELL / (north - south) : 0
  // value and position in one double: 32 bits of curve, 20 of position
  const keys = new Float64Array(group.length)
  for (let at = 0; at < group.length; at++) {
    const entry = group[at]!
    const x = (entries.minLng[entry]! + entries.maxLng[entry]!) / 2 - west
    const y = (entries.minLat[entry]! + entries.maxLat[entry]!) / 2 - south
    keys[at] = hilbert(Math.floor(x * scaleX), Math.floor(y * scaleY)) * POSITIONS + at
  }
  // typed arrays sort by value, without calls of a comparison function
  keys.sort()
  const source = group.slice()
  for (let at = 0; at < group.length; at++) {
    group[at] = source[keys[at]! % POSITIONS]!
  }
}

const LAST_CELL = HILBERT_SIDE - 1
/** More than the entries of one call, which has at most `MAX_SEGMENT_ROWS`. */
const POSITIONS = 2 ** 20
