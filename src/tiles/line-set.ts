import { BUFFER, EXTENT } from './mercator.js'

/** Lines of one kind of road, joined where they meet, each stretch once. */
export interface LineSet {
  /** x, y … on the grid, at least two points */
  add(part: readonly number[]): void
  /** the lines, without points that a straight line does as well */
  lines(): number[][]
}

/** More than any coordinate is apart from any other: two make a key below 2^53. */
const SPAN = EXTENT + 2 * BUFFER + 1

/**
 * From afar thousands of segments fall onto the same few points of the grid. Each stretch between two points is kept
 * once, so what a tile holds is bounded by its grid, whatever the number of roads.
 */
export function createLineSet(grid: number): LineSet {
  const stretches = new Set<number>()
  /** point → an open line that begins or ends there */
  const openAt = new Map<number, number[]>()
  const all = new Set<number[]>()

  const addLine = (line: number[]): void => {
    const joined = joinAt(joinAt(line, keyAt(line, 0)), keyAt(line, line.length - 2))
    all.add(joined)
    openAt.set(keyAt(joined, 0), joined)
    openAt.set(keyAt(joined, joined.length - 2), joined)
  }
  /** The line together with an open one that ends at a point of its own; that one is gone then. */
  const joinAt = (line: number[], point: number): number[] => {
    const other = openAt.get(point)
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
      let fresh: number[] = []
      for (let at = 2; at < part.length; at += 2) {
        if (takeStretch(stretches, part, at)) {
          if (fresh.length === 0) fresh.push(part[at - 2]!, part[at - 1]!)
          fresh.push(part[at]!, part[at + 1]!)
        } else if (fresh.length > 0) {
          addLine(fresh)
          fresh = []
        }
      }
      if (fresh.length > 0) addLine(fresh)
    },
    lines: () => [...all].map((line) => simplify(line, grid)),
  }
}

/** False when the stretch that ends at `at` is there already, in either direction. */
function takeStretch(stretches: Set<number>, part: readonly number[], at: number): boolean {
  const a = keyAt(part, at - 2)
  const b = keyAt(part, at)
  const key = Math.min(a, b) * SPAN * SPAN + Math.max(a, b)
  if (stretches.has(key)) return false
  stretches.add(key)
  return true
}

function keyAt(line: readonly number[], at: number): number {
  return (line[at]! + BUFFER) * SPAN + line[at + 1]! + BUFFER
}

function reversed(line: readonly number[]): number[] {
  const turned: number[] = []
  for (let at = line.length - 2; at >= 0; at -= 2) turned.push(line[at]!, line[at + 1]!)
  return turned
}

/**
 * Leaves out points nearer than `tolerance` to the line without them.
 *
 * @see D. Douglas, T. Peucker, "Algorithms for the reduction of the number of points", 1973
 */
export function simplify(line: number[], tolerance: number): number[] {
  const last = line.length - 2
  if (last <= 2) return line
  const isKept = new Uint8Array(line.length)
  isKept[0] = 1
  isKept[last] = 1
  const waiting = [0, last]
  while (waiting.length > 0) {
    const to = waiting.pop()!
    const from = waiting.pop()!
    const farthest = farthestFrom(line, from, to, tolerance)
    if (farthest < 0) continue
    isKept[farthest] = 1
    waiting.push(from, farthest, farthest, to)
  }
  return line.filter((_, i) => isKept[i & ~1] === 1)
}

/** Position of the point farthest from a straight line, -1 when none is farther than `tolerance`. */
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
