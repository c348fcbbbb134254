import type { ArcMeasure } from '../search/leg-search.js'
import { findArc, type Hierarchy } from './hierarchy.js'
import type { Meeting, Row } from './table.js'
import { findInputArc, findMiddle, type Unpacker } from './unpack.js'

/**
 * Sums along cheapest paths without listing their arcs: the sums of a hop are computed once, and most paths
 * share most of their hops.
 */
export interface PathSums {
  /** Writes one sum for each measure to place `at` of the measures' arrays. */
  write(meeting: Meeting, sums: readonly Float64Array[], at: number): void
}

/** Most entries that are kept at once. */
const MAX_ENTRIES = 500_000
/** Entry of the empty path. */
const EMPTY = 0

/** Sums of hops and of parts of rows: entry e is `values[e * width … + width)`. */
interface Entries {
  readonly width: number
  values: Float64Array
  count: number
}

/**
 * Creates the sums of one unpacker. A hop costs a search for its middle the first time and a lookup later,
 * so a row of a matrix costs about as much as its new hops.
 *
 * @param maxEntries hops and parts of rows that are kept at once, some 50 bytes each
 */
export function createPathSums(
  unpacker: Unpacker,
  measures: readonly ArcMeasure[],
  maxEntries = MAX_ENTRIES,
): PathSums {
  const { hierarchy: h, metric } = unpacker
  const entries = createEntries(measures.length)
  const hops = new Map<number, number>() // code of a hop, `arc * 2 + (isUp ? 0 : 1)` → entry
  const parts = new Map<Row, Int32Array>() // row → depth → entry of the path between there and the row's end

  // recursive: each middle is lower in the elimination tree, so it is at most as deep as the tree
  const entryOfHop = (lower: number, hopArc: number, isUp: boolean): number => {
    const code = hopArc * 2 + (isUp ? 0 : 1)
    const known = hops.get(code)
    if (known !== undefined) return known
    const costMs = (isUp ? metric.up : metric.down)[hopArc]!
    const own = findInputArc(unpacker, lower, hopArc, isUp, costMs)
    const entry = own >= 0 ? addMeasures(entries, measures, own) : entryOfTriangle(lower, hopArc, isUp)
    hops.set(code, entry)
    return entry
  }

  const entryOfTriangle = (lower: number, hopArc: number, isUp: boolean): number => {
    const middle = findMiddle(unpacker, lower, hopArc, isUp)
    // both hops of the triangle begin at its middle, the lowest of the three ranks
    const begin = h.first[middle]!
    const toLower = findArc(h, middle, h.headDepth[h.first[lower]!]! + 1, begin)
    const toUpper = findArc(h, middle, h.headDepth[hopArc]!, begin)
    // first the hop down to the middle, then the one up from it, as the path is driven
    const first = entryOfHop(middle, isUp ? toLower : toUpper, false)
    return addUp(entries, first, entryOfHop(middle, isUp ? toUpper : toLower, true))
  }

  const entryOfRow = (row: Row, depth: number, isUp: boolean): number => {
    const from = row.from[depth]!
    if (from < 0) return EMPTY
    let known = parts.get(row)
    if (known === undefined) {
      known = new Int32Array(row.rank.length)
      parts.set(row, known)
    }
    if (known[depth] === EMPTY) {
      const before = entryOfRow(row, from, isUp)
      // a part is the part before it and one hop, so the labels of a row are summed once each
      known[depth] = addUp(entries, before, entryOfHop(row.rank[from]!, hopTo(h, row, from, depth), isUp))
    }
    return known[depth]!
  }

  return {
    write({ row, column, depth }, sums, at) {
      // emptied between two paths, never within one; entry 0 remains, the empty path with sums of 0
      if (entries.count > maxEntries) {
        entries.count = 1
        hops.clear()
        parts.clear()
      }
      const up = entryOfRow(row, depth, true)
      const down = entryOfRow(column, depth, false)
      // read after the entries exist: the array may have been replaced when it grew
      const { values, width } = entries
      for (let i = 0; i < width; i++) sums[i]![at] = values[up * width + i]! + values[down * width + i]!
    },
  }
}

/** Finds the arc of a row between the ranks of two depths. */
function hopTo(h: Hierarchy, row: Row, from: number, depth: number): number {
  const lower = row.rank[from]!
  return findArc(h, lower, depth, h.first[lower]!)
}

function createEntries(width: number): Entries {
  return { width, values: new Float64Array(1024 * width), count: 1 }
}

/** Adds the entry of an arc of the graph. */
function addMeasures(entries: Entries, measures: readonly ArcMeasure[], arc: number): number {
  const entry = newEntry(entries)
  for (const [i, measure] of measures.entries()) entries.values[entry * entries.width + i] = measure(arc)
  return entry
}

/** Adds the sum of two entries. */
function addUp(entries: Entries, a: number, b: number): number {
  const entry = newEntry(entries)
  const { values, width } = entries
  for (let i = 0; i < width; i++) values[entry * width + i] = values[a * width + i]! + values[b * width + i]!
  return entry
}

/** Reserves an entry; the array doubles when it is full. */
function newEntry(entries: Entries): number {
  if ((entries.count + 1) * entries.width > entries.values.length) {
    const grown = new Float64Array(entries.values.length * 2)
    grown.set(entries.values)
    entries.values = grown
  }
  return entries.count++
}
