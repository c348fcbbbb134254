import type { ArcMeasure, ArcPairTest, PathRow } from '../search/leg-search.js'
import { findArc, type Hierarchy } from './hierarchy.js'
import type { Meeting, Row } from './table.js'
import { findInputArc, findMiddle, type Unpacker } from './unpack.js'

/**
 * Sums along cheapest paths without listing their arcs: the sums of a hop are computed once, and most paths
 * share most of their hops.
 */
export interface PathSums {
  /** Writes one sum for each measure, the first and the last arc, and the mark to column `at` of a row. */
  write(meeting: Meeting, row: PathSumsRow, at: number): void
}

/** The part of a row that is written. */
export type PathSumsRow = Pick<PathRow, 'sums' | 'firstArc' | 'lastArc' | 'isMarked'>

/** Most entries that are kept at once. */
const MAX_ENTRIES = 500_000
/** Entry of the empty path. */
const EMPTY = 0

/** Sums of hops and of parts of rows: entry e has the sums `values[e * width … + width)`. */
interface Entries {
  readonly width: number
  readonly isMarkedPair: ArcPairTest
  values: Float64Array
  /** entry → its first and its last arc, -1 = none; and whether two arcs of it are marked, 0 or 1 */
  ends: Int32Array
  count: number
}

/** Numbers of an entry in `Entries.ends`. */
const ENDS = 3

/**
 * Creates the sums of one unpacker. A hop costs a search for its middle the first time and a lookup later,
 * so a row of a matrix costs about as much as its new hops.
 *
 * @param isMarkedPair of `LegSearch.rows`
 * @param maxEntries hops and parts of rows that are kept at once, some 60 bytes each
 */
export function createPathSums(
  unpacker: Unpacker,
  measures: readonly ArcMeasure[],
  isMarkedPair: ArcPairTest,
  maxEntries = MAX_ENTRIES,
): PathSums {
  const { hierarchy: h, metric } = unpacker
  const entries = createEntries(measures.length, isMarkedPair)
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
    return join(entries, first, entryOfHop(middle, isUp ? toUpper : toLower, true))
  }

  const entryOfRow = (row: Row, depth: number, isUp: boolean): number => {
    const from = row.from[depth]!
    if (from < 0) return EMPTY
    let known = parts.get(row)
    if (known === undefined) {
      known = new Int32Array(row.rank.length)
      parts.set(row, known)
    }
    // no entry yet: the part has a hop, so its entry is not the empty one
    if (known[depth] === EMPTY) {
      const before = entryOfRow(row, from, isUp)
      // a part is the part before it and one hop, so the labels of a row are summed once each
      const hop = entryOfHop(row.rank[from]!, hopTo(h, row, from, depth), isUp)
      known[depth] = isUp ? join(entries, before, hop) : join(entries, hop, before)
    }
    return known[depth]!
  }

  return {
    write({ row, column, depth }, to, at) {
      // emptied between two paths, never within one; entry 0 remains, the empty path with sums of 0
      if (entries.count > maxEntries) {
        entries.count = 1
        hops.clear()
        parts.clear()
      }
      const path = join(entries, entryOfRow(row, depth, true), entryOfRow(column, depth, false))
      // read after the entries exist: the arrays may have been replaced when they grew
      const { values, ends, width } = entries
      for (let i = 0; i < width; i++) to.sums[i]![at] = values[path * width + i]!
      to.firstArc[at] = ends[path * ENDS]!
      to.lastArc[at] = ends[path * ENDS + 1]!
      to.isMarked[at] = ends[path * ENDS + 2]!
    },
  }
}

/** Finds the arc of a row between the ranks of two depths. */
function hopTo(h: Hierarchy, row: Row, from: number, depth: number): number {
  const lower = row.rank[from]!
  return findArc(h, lower, depth, h.first[lower]!)
}

function createEntries(width: number, isMarkedPair: ArcPairTest): Entries {
  const [values, ends] = [new Float64Array(1024 * width), new Int32Array(1024 * ENDS)]
  // the empty path
  ends.set([-1, -1, 0])
  return { width, isMarkedPair, values, ends, count: 1 }
}

/** Adds the entry of an arc of the graph. */
function addMeasures(entries: Entries, measures: readonly ArcMeasure[], arc: number): number {
  const entry = newEntry(entries)
  for (const [i, measure] of measures.entries()) entries.values[entry * entries.width + i] = measure(arc)
  setEnds(entries, entry, arc, arc, 0)
  return entry
}

/** Adds the path of two entries, the first one driven first. */
function join(entries: Entries, a: number, b: number): number {
  if (a === EMPTY) return b
  if (b === EMPTY) return a
  const entry = newEntry(entries)
  const { values, ends, width, isMarkedPair } = entries
  for (let i = 0; i < width; i++) values[entry * width + i] = values[a * width + i]! + values[b * width + i]!
  const isMarked = ends[a * ENDS + 2] === 1 || ends[b * ENDS + 2] === 1
  const meet = isMarked || isMarkedPair(ends[a * ENDS + 1]!, ends[b * ENDS]!)
  setEnds(entries, entry, ends[a * ENDS]!, ends[b * ENDS + 1]!, meet ? 1 : 0)
  return entry
}

function setEnds({ ends }: Entries, entry: number, firstArc: number, lastArc: number, mark: number): void {
  const at = entry * ENDS
  ends[at] = firstArc
  ends[at + 1] = lastArc
  ends[at + 2] = mark
}

/** Reserves an entry; the arrays double when they are full. */
function newEntry(entries: Entries): number {
  if ((entries.count + 1) * ENDS > entries.ends.length) {
    const [values, ends] = [
      new Float64Array(entries.values.length * 2),
      new Int32Array(entries.ends.length * 2),
    ]
    values.set(entries.values)
    ends.set(entries.ends)
    entries.values = values
    entries.ends = ends
  }
  return entries.count++
}
