import { BUFFER, EXTENT } from './mercator.js'

/** Lines of one kind of road, joined at their ends, without duplicate edges. */
export interface LineSet {
  /** Adds a line. @param part x, y … on the grid, at least two points */
  add(part: readonly number[]): void
  /** Returns the lines, simplified to the grid: x, y … */
  lines(): number[][]
}

/**
 * Number of different coordinates along an axis: a point makes a key below SPAN², and an edge one below 2^53.
 */
const SPAN = EXTENT + 2 * BUFFER + 1

/**
 * Creates an empty set. At low zooms thousands of segments fall onto few points of the grid; each edge
 * between two points is kept once, so the size of a tile is bounded by its grid, whatever the number of
 * roads.
 *
 * @param grid tolerance of the simplification, tile units
 */
export function createLineSet(grid: number): LineSet {
  const edges = new Set<number>()
  /** point → an open line that begins or ends there */
  const openAt = new Map<number, number[]>()
  const all = new Set<number[]>()

  /** Joins a line with open lines at both of its ends. */
  const addLine = (line: number[]): void => {
    const joined = joinAt(joinAt(line, keyAt(line, 0)), keyAt(line, line.length - 2))
    all.add(joined)
    openAt.set(keyAt(joined, 0), joined)
    openAt.set(keyAt(joined, joined.length - 2), joined)
  }
  /** Joins a line with an open one that ends at the point, and removes the open one. */
  const joinAt = (line: number[], point: number): number[] => {
    const other = openAt.get(point)
    // a line that ends where it begins is a ring, not its own neighbour
    if (other === undefined || other === line) return line
    const [first, last] = [keyAt(other, 0), keyAt(other, other.length - 2)]
    openAt.delete(first)
    openAt.delete(last)
    all.delete(other)
    const before = last === point ? other : reversed(other)
    const after = keyAt(line, 0) === point ? line : reversed(line)
    for (let i = 2; i < after.length; i++) before.push(after[i]!)
    return before
  }
  return {
    add(part) {
      let added: number[] = []
      for (let at = 2; at < part.length; at += 2) {
        if (addEdge(edges, part, at)) {
          if (added.length === 0) added.push(part[at - 2]!, part[at - 1]!)
          added.push(part[at]!, part[at + 1]!)
        } else if (added.length > 0) {
          addLine(added)
          added = []
        }
      }
      if (added.length > 0) addLine(added)
    },
    lines: () => [...all].map((line) => simplify(line, grid)),
  }
}

/** Adds the edge that ends at index `at`; false when it exists already, in either direction. */
function addEdge(edges: Set<number>, part: readonly number[], at: number): boolean {
  const a = keyAt(part, at - 2)
  const b = keyAt(part, at)
  // the smaller point first, so that both directions have one key
  const key = Math.min(a, b) * SPAN * SPAN + Math.max(a, b)
  if (edges.has(key)) return false
  edges.add(key)
  return true
}

/** Key of the point at an index. */
function keyAt(line: readonly number[], at: number): number {
  return (line[at]! + BUFFER) * SPAN + line[at + 1]! + BUFFER
}

function reversed(line: readonly number[]): number[] {
  const turned: number[] = []
  for (let at = line.length - 2; at >= 0; at -= 2) turned.push(line[at]!, line[at + 1]!)
  return turned
}

/**
 * Drops points within `tolerance` of the simplified line. Works with a stack of its own: O(n²) at worst.
 *
 * @see D. Douglas, T. Peucker, "Algorithms for the reduction of the number of points", 1973
 */
function simplify(line: number[], tolerance: number): number[] {
  const last = line.length - 2
  if (last <= 2) return line
  const isKept = new Uint8Array(line.length)
  isKept[0] = 1
  isKept[last] = 1
  const pending = [0, last]
  while (pending.length > 0) {
    const to = pending.pop()!
    const from = pending.pop()!
    const farthest = farthestFrom(line, from, to, tolerance)
    if (farthest < 0) continue
    isKept[farthest] = 1
    pending.push(from, farthest, farthest, to)
  }
  return line.filter((_, i) => isKept[i & ~1] === 1)
}

/**
 * Index of the point farthest from the straight line between two others; -1 when none is beyond `tolerance`.
 */
function farthestFrom(line: readonly number[], from: number, to: number, tolerance: number): number {
  const x0 = line[from]!
  const y0 = line[from + 1]!
  const dx = line[to]! - x0
  const dy = line[to + 1]! - y0
  const length2 = dx * dx + dy * dy
  let most2 = tolerance * tolerance
  let farthest = -1
  for (let at = from + 2; at < to; at += 2) {
    const px = line[at]! - x0
    const py = line[at + 1]! - y0
    const share = length2 === 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length2))
    const distance2 = (px - share * dx) ** 2 + (py - share * dy) ** 2
    if (distance2 <= most2) continue
    most2 = distance2
    farthest = at
  }
  return farthest
}
