/** Edges on a grid: x0, y0, x1, y1 of each, one after the other; whole numbers below 2^15. */
export type Edges = number[]

const HALF_SPAN = 32_768
const SPAN = 65_536
/** Pairs of edges that are compared at most; rings with more are refused. */
const MAX_PAIRS = 5_000_000

/** Returns a number for a point of the grid. */
export function pointKey(x: number, y: number): number {
  return (x + HALF_SPAN) * SPAN + y + HALF_SPAN
}

export function keyX(key: number): number {
  return Math.floor(key / SPAN) - HALF_SPAN
}

export function keyY(key: number): number {
  return (key % SPAN) - HALF_SPAN
}

/** Edges of rings, each pair that covers each other removed: they do not bound an area. */
export function createEdgeSet() {
  const odd = new Map<string, readonly [number, number, number, number]>()
  return {
    toggle(x0: number, y0: number, x1: number, y1: number): void {
      const a = pointKey(x0, y0)
      const b = pointKey(x1, y1)
      if (a === b) return
      const edge = a < b ? ([x0, y0, x1, y1] as const) : ([x1, y1, x0, y0] as const)
      const key = a < b ? `${a} ${b}` : `${b} ${a}`
      if (!odd.delete(key)) odd.set(key, edge)
    },
    edges: (): Edges => [...odd.values()].flat(),
  }
}

/**
 * Finds the points, beside common ends, in which edges meet: ends of one inside another, and crossings, rounded
 * to the grid.
 *
 * @returns keys of the points, none when the edges only meet at their ends; undefined when there are too many
 *   pairs to compare
 */
export function findMeetings(edges: Edges): Set<number> | undefined {
  const count = edges.length / 4
  const order = Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => leftOf(edges, a) - leftOf(edges, b) || a - b,
  )
  const meetings = new Set<number>()
  let active: number[] = []
  let pairs = 0
  for (const edge of order) {
    const left = leftOf(edges, edge)
    active = active.filter((other) => rightOf(edges, other) >= left)
    pairs += active.length
    if (pairs > MAX_PAIRS) return undefined
    for (const other of active) addMeetings(edges, edge * 4, other * 4, meetings)
    active.push(edge)
  }
  return meetings
}

function leftOf(edges: Edges, edge: number): number {
  return Math.min(edges[edge * 4]!, edges[edge * 4 + 2]!)
}

function rightOf(edges: Edges, edge: number): number {
  return Math.max(edges[edge * 4]!, edges[edge * 4 + 2]!)
}

function addMeetings(edges: Edges, a: number, b: number, meetings: Set<number>): void {
  const [ax, ay, bx, by] = [edges[a]!, edges[a + 1]!, edges[a + 2]!, edges[a + 3]!]
  const [cx, cy, dx, dy] = [edges[b]!, edges[b + 1]!, edges[b + 2]!, edges[b + 3]!]
  if (Math.max(ay, by) < Math.min(cy, dy) || Math.max(cy, dy) < Math.min(ay, by)) return
  // products of numbers below 2^16 are exact
  const c = side(ax, ay, bx, by, cx, cy)
  const d = side(ax, ay, bx, by, dx, dy)
  if (c * d > 0) return
  const e = side(cx, cy, dx, dy, ax, ay)
  const f = side(cx, cy, dx, dy, bx, by)
  if (e * f > 0) return
  if (c * d < 0 && e * f < 0) {
    meetings.add(pointKey(ax + roundedShare(e, e - f, bx - ax), ay + roundedShare(e, e - f, by - ay)))
    return
  }
  if (c === 0 && isInside(ax, ay, bx, by, cx, cy)) meetings.add(pointKey(cx, cy))
  if (d === 0 && isInside(ax, ay, bx, by, dx, dy)) meetings.add(pointKey(dx, dy))
  if (e === 0 && isInside(cx, cy, dx, dy, ax, ay)) meetings.add(pointKey(ax, ay))
  if (f === 0 && isInside(cx, cy, dx, dy, bx, by)) meetings.add(pointKey(bx, by))
}

/** Returns `length * part / whole`, rounded half up, exactly: all terms are below 2^53. */
function roundedShare(part: number, whole: number, length: number): number {
  const divisor = Math.abs(whole) * 2
  const dividend = part * length * Math.sign(whole) * 2 + Math.abs(whole)
  const quotient = Math.floor(dividend / divisor)
  const rest = dividend - quotient * divisor
  if (rest < 0) return quotient - 1
  return rest >= divisor ? quotient + 1 : quotient
}

/** Twice the signed area of a triangle. */
function side(ax: number, ay: number, bx: number, by: number, px: number, py: number): number {
  return (bx - ax) * (py - ay) - (by - ay) * (px - ax)
}

/** Returns true for a point on the line of an edge that lies between its ends, not on one. */
function isInside(ax: number, ay: number, bx: number, by: number, px: number, py: number): boolean {
  const dot = (px - ax) * (bx - ax) + (py - ay) * (by - ay)
  const length2 = (bx - ax) ** 2 + (by - ay) ** 2
  return dot > 0 && dot < length2
}
