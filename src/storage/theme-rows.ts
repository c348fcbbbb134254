import type { LoaderTable, Span } from './tables.js'
import type { CellVisitor, TimedCellVisitor } from './themes.js'

/** State of a table: its rows are the same while both numbers are. */
export interface TableState {
  readonly tableId: number
  readonly version: number
}

/** Question about the rows of themes. */
export interface ThemeQuestion {
  /** names to find tables by; `known` is the state of which the asker has the change times */
  readonly tables: readonly { readonly name: string; readonly known: TableState | undefined }[]
  /** true to list every table */
  readonly isListing: boolean
  readonly cells: readonly WantedCells[]
  readonly timed: readonly WantedTimed[]
}

/** Cells of a table, one of the question, that are valid at some instants, µs UTC, ascending. */
export interface WantedCells {
  readonly name: string
  readonly instantsUs: readonly bigint[]
}

/** Cells of a table, one of the question, that are valid at some time of a span. */
export interface WantedTimed {
  readonly name: string
  readonly span: Span
}

/** Answer to a question, of one state of all tables. What is asked of a table that does not exist is left out. */
export interface ThemeAnswer {
  /** in the order of the question; undefined where no table has the name */
  readonly tables: readonly (FoundTable | undefined)[]
  /** undefined unless asked for */
  readonly all: readonly LoaderTable[] | undefined
  readonly cells: readonly FoundCells[]
  readonly timed: readonly (WantedTimed & { readonly cells: PackedCells })[]
}

export interface FoundTable {
  readonly table: LoaderTable
  readonly version: number
  /**
   * instants at which rows begin or end, ascending, µs UTC; null when there are too many to list, undefined when the
   * state is the known one
   */
  readonly changes: readonly bigint[] | null | undefined
}

/** Cells that are valid from one instant up to another one, µs UTC. */
export interface FoundCells {
  readonly name: string
  readonly fromUs: bigint
  /** the next instant at which rows begin or end; undefined = never */
  readonly untilUs: bigint | undefined
  readonly cells: PackedCells
}

/** Rows of themes that are read from afar. */
export interface ThemeRows {
  /** @throws AppError DATABASE_UNAVAILABLE, BUSY, TIME_LIMIT */
  read(question: ThemeQuestion): Promise<ThemeAnswer>
}

/** Risk cells in few arrays, which cross threads faster than objects. */
export interface PackedCells {
  /** all geometries, one after another */
  readonly wkbs: Uint8Array<ArrayBuffer>
  /** end of each geometry in `wkbs` */
  readonly ends: Float64Array<ArrayBuffer>
  readonly levels: Float64Array<ArrayBuffer>
  /** start and end of each cell, µs UTC; `OPEN` for an open one */
  readonly times: BigInt64Array<ArrayBuffer>
}

/** A time that no row has. */
const OPEN = -(2n ** 63n)

/** Collects cells. */
export function createCellPacker(): { readonly add: TimedCellVisitor; pack(): PackedCells } {
  const wkbs: Uint8Array[] = []
  const [levels, times]: [number[], bigint[]] = [[], []]
  let bytes = 0
  return {
    add(wkb, level, startUs, endUs) {
      wkbs.push(wkb.slice()) // a view is valid during the call only
      bytes += wkb.length
      levels.push(level)
      times.push(startUs ?? OPEN, endUs ?? OPEN)
    },
    pack() {
      const packed = new Uint8Array(bytes)
      const ends = new Float64Array(wkbs.length)
      let at = 0
      for (const [cell, wkb] of wkbs.entries()) {
        packed.set(wkb, at)
        at += wkb.length
        ends[cell] = at
      }
      return { wkbs: packed, ends, levels: Float64Array.from(levels), times: BigInt64Array.from(times) }
    },
  }
}

/** Visits packed cells in the order in which they were added. */
export function visitCells({ wkbs, ends, levels }: PackedCells, visit: CellVisitor): void {
  let at = 0
  for (const [cell, end] of ends.entries()) {
    visit(wkbs.subarray(at, end), levels[cell] as number)
    at = end
  }
}

/** Visits packed cells with their times, in the order in which they were added. */
export function visitTimedCells(packed: PackedCells, visit: TimedCellVisitor): void {
  const timeAt = (at: number): bigint | null => {
    const us = packed.times[at]
    return us === undefined || us === OPEN ? null : us
  }
  let cell = 0
  visitCells(packed, (wkb, level) => {
    visit(wkb, level, timeAt(2 * cell), timeAt(2 * cell + 1))
    cell++
  })
}

/** Buffers of an answer, which may move to another thread. */
export function buffersOf({ cells, timed }: ThemeAnswer): ArrayBuffer[] {
  return [...cells, ...timed].flatMap(({ cells: { wkbs, ends, levels, times } }) => [
    ...[wkbs.buffer, ends.buffer, levels.buffer, times.buffer],
  ])
}
