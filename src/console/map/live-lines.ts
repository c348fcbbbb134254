import type { Map as MapLibreMap } from 'maplibre-gl'
import { h } from '../core/dom.js'
import { type LiveRoute, strokesOf } from './live-strokes.js'
import { routeColours } from './style.js'

/**
 * Draws routes over the map while they change with each answer. The map itself would be drawn again for each of
 * them, all of its streets and names: without a graphics card that takes longer than the answer. For the same
 * reason the lines are drawn by the page, into a canvas that is no larger than they are.
 */
export function liveLines(map: MapLibreMap, isDark: () => boolean) {
  const canvas = h('canvas', { class: 'live-lines', 'aria-hidden': 'true' })
  // drawn by the processor: a graphics card, or what stands for one, takes longer for some hundred corners
  const context = canvas.getContext('2d', { willReadFrequently: true })
  let shown: readonly LiveRoute[] = []
  const draw = () => {
    if (context === null) return
    const { clientWidth: width, clientHeight: height } = map.getCanvas()
    const project = (point: [number, number]) => map.project(point)
    const { strokes, box } = strokesOf(shown, project, { ...routeColours(isDark()), width, height })
    paint(context, strokes, box)
  }
  const remove = () => {
    shown = []
    canvas.remove()
    map.off('move', draw)
  }
  return {
    /** @param routes the first is drawn first */
    show(routes: readonly LiveRoute[]) {
      map.off('idle', remove)
      shown = routes
      draw()
      if (canvas.isConnected) return
      map.getCanvas().after(canvas) // below the pins
      map.on('move', draw)
    },
    /** Shows the last routes until the map has drawn them itself, which takes seconds on a slow device. */
    end(last: readonly LiveRoute[]) {
      if (!canvas.isConnected) return
      shown = last
      draw()
      void map.once('idle', remove)
    },
  }
}

/** Fits the canvas to a box, which clears it, and draws the strokes. */
function paint(
  context: CanvasRenderingContext2D,
  strokes: ReturnType<typeof strokesOf>['strokes'],
  [left, top, right, bottom]: ReturnType<typeof strokesOf>['box'],
): void {
  const { canvas } = context
  const ratio = window.devicePixelRatio
  canvas.width = Math.ceil((right - left) * ratio)
  canvas.height = Math.ceil((bottom - top) * ratio)
  canvas.style.width = `${canvas.width / ratio}px`
  canvas.style.height = `${canvas.height / ratio}px`
  canvas.style.transform = `translate(${left}px, ${top}px)`
  context.setTransform(ratio, 0, 0, ratio, -left * ratio, -top * ratio)
  context.lineCap = 'round'
  context.lineJoin = 'round'
  for (const { lines, colour, width } of strokes) {
    context.strokeStyle = colour
    context.lineWidth = width
    context.beginPath()
    for (const line of lines) {
      context.moveTo(line[0] ?? 0, line[1] ?? 0)
      for (let i = 2; i < line.length; i += 2) context.lineTo(line[i] ?? 0, line[i + 1] ?? 0)
    }
    context.stroke()
  }
}
