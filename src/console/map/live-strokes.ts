import type { RouteLine } from './route/along.js'
import { riskColour } from './state.js'

/** A route of a drag, drawn over the map. */
export interface LiveRoute {
  readonly lines: readonly RouteLine[]
  /** true: in the colours of its risk, with a casing */
  readonly isChosen: boolean
}

/** Lines that are drawn in one colour and width. */
export interface Stroke {
  /** x and y of each corner, pixels of the map */
  readonly lines: readonly (readonly number[])[]
  readonly colour: string
  /** pixels */
  readonly width: number
}

/** Visible part of the map, pixels, and the colours of routes without one of their own. */
interface Ground {
  readonly route: string
  readonly halo: string
  readonly width: number
  readonly height: number
}

/** Left, top, right, bottom, whole pixels of the map. */
type Box = readonly [number, number, number, number]

/** Widths of the lines of the map's own layers, pixels: see `overlays.ts`. */
const CHOSEN = { halo: 12, casing: 9, line: 5 }
const OTHER = { halo: 8, line: 5 }
/** Corners closer to the one before are left out, pixels. */
const NEAR = 1

/**
 * Strokes of routes, the first drawn first, and the box of the map around all that is visible of them.
 *
 * @param project place in pixels of the map
 */
export function strokesOf(
  routes: readonly LiveRoute[],
  project: (point: [number, number]) => { x: number; y: number },
  ground: Ground,
): { strokes: Stroke[]; box: Box } {
  const strokes = routes.flatMap((route) => routeStrokes(route, project, ground))
  return { strokes, box: boxOf(strokes, ground) }
}

function routeStrokes(
  { lines, isChosen }: LiveRoute,
  project: (point: [number, number]) => { x: number; y: number },
  { route, halo }: Ground,
): Stroke[] {
  const whole = lines.map(({ geometry }) => cornersOf(geometry.coordinates, project))
  const own = lines[0]?.properties.colour
  const colour = typeof own === 'string' ? own : route
  if (!isChosen)
    return [
      { lines: whole, colour: halo, width: OTHER.halo },
      { lines: whole, colour, width: OTHER.line },
    ]
  const byColour = new Map<string, (readonly number[])[]>()
  for (const [i, { properties }] of lines.entries()) {
    const level = riskColour(Number(properties.risk ?? 0))
    const same = byColour.get(level) ?? []
    same.push(whole[i] ?? [])
    byColour.set(level, same)
  }
  return [
    { lines: whole, colour: halo, width: CHOSEN.halo },
    { lines: whole, colour, width: CHOSEN.casing },
    ...[...byColour].map(([level, same]) => ({ lines: same, colour: level, width: CHOSEN.line })),
  ]
}

/** Corners of a line in the pixels of the map, its ends and those that are far enough from the one before. */
function cornersOf(
  line: readonly [number, number][],
  project: (point: [number, number]) => { x: number; y: number },
): number[] {
  const corners: number[] = []
  let [lastX, lastY] = [Number.NaN, Number.NaN]
  for (const [i, point] of line.entries()) {
    const { x, y } = project(point)
    if (i > 0 && i < line.length - 1 && Math.hypot(x - lastX, y - lastY) < NEAR) continue
    corners.push(x, y)
    lastX = x
    lastY = y
  }
  return corners
}

/** Box of what is visible of the strokes; of no size when that is nothing. */
function boxOf(strokes: readonly Stroke[], { width, height }: Ground): Box {
  let [left, top, right, bottom] = [width, height, 0, 0]
  for (const { lines, width: wide } of strokes) {
    const around = wide / 2 + 1 // what lies between pixels is drawn over both
    for (const line of lines) {
      for (let i = 0; i < line.length; i += 2) {
        const [x, y] = [line[i] ?? 0, line[i + 1] ?? 0]
        left = Math.min(left, x - around)
        right = Math.max(right, x + around)
        top = Math.min(top, y - around)
        bottom = Math.max(bottom, y + around)
      }
    }
  }
  left = Math.max(0, Math.floor(left))
  top = Math.max(0, Math.floor(top))
  return [
    left,
    top,
    Math.max(left, Math.min(width, Math.ceil(right))),
    Math.max(top, Math.min(height, Math.ceil(bottom))),
  ]
}
