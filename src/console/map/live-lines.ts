import type { Map as MapLibreMap } from 'maplibre-gl'
import { svg } from '../core/dom.js'
import type { RouteLine } from './route/along.js'
import { riskColour } from './state.js'
import { routeColours } from './style.js'

/** A route of a drag, drawn over the map. */
export interface LiveRoute {
  readonly lines: readonly RouteLine[]
  /** true: in the colours of its risk, with a casing */
  readonly isChosen: boolean
}

/** Widths of the lines of the map's own layers, pixels: see `overlays.ts`. */
const CHOSEN = { halo: 12, casing: 9, line: 5 }
const OTHER = { halo: 8, line: 5 }
/** Points closer to the one before are left out, pixels. */
const NEAR = 1

/**
 * Draws routes over the map while they change with each answer. The map itself would be drawn again for each of
 * them, all of its streets and names: without a graphics card that takes longer than the answer.
 */
export function liveLines(map: MapLibreMap, isDark: () => boolean) {
  const element = svg('svg', { class: 'live-lines', 'aria-hidden': 'true' })
  let shown: readonly LiveRoute[] = []
  const draw = () => element.replaceChildren(...shown.flatMap((route) => pathsOf(map, route, isDark())))
  const remove = () => {
    shown = []
    element.remove()
    map.off('move', draw)
  }
  return {
    /** @param routes the first is drawn first */
    show(routes: readonly LiveRoute[]) {
      map.off('idle', remove)
      shown = routes
      draw()
      if (element.isConnected) return
      map.getCanvas().after(element) // below the pins
      map.on('move', draw)
    },
    /** Leaves the lines until the map has drawn its own. */
    end() {
      if (element.isConnected) void map.once('idle', remove)
    },
  }
}

function pathsOf(map: MapLibreMap, { lines, isChosen }: LiveRoute, isDark: boolean): SVGElement[] {
  const { route, halo } = routeColours(isDark)
  const drawn = lines.map(({ geometry, properties }) => ({
    d: pathOf(map, geometry.coordinates),
    colour: typeof properties.colour === 'string' ? properties.colour : route,
    risk: Number(properties.risk ?? 0),
  }))
  const whole = drawn.map(({ d }) => d).join('')
  const colour = drawn[0]?.colour ?? route
  if (!isChosen) return [stroke(whole, halo, OTHER.halo), stroke(whole, colour, OTHER.line)]
  return [
    stroke(whole, halo, CHOSEN.halo),
    stroke(whole, colour, CHOSEN.casing),
    ...drawn.map(({ d, risk }) => stroke(d, riskColour(risk), CHOSEN.line)),
  ]
}

function stroke(d: string, colour: string, width: number): SVGElement {
  return svg('path', { d, stroke: colour, 'stroke-width': width })
}

/** Path of a line in the pixels of the map. */
function pathOf(map: MapLibreMap, line: readonly [number, number][]): string {
  let path = ''
  let [lastX, lastY] = [Number.NaN, Number.NaN]
  for (const [i, point] of line.entries()) {
    const { x, y } = map.project(point)
    if (i > 0 && i < line.length - 1 && Math.hypot(x - lastX, y - lastY) < NEAR) continue
    path += `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`
    lastX = x
    lastY = y
  }
  return path
}
