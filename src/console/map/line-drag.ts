import {
  type MapLayerMouseEvent,
  type MapLayerTouchEvent,
  type Map as MapLibreMap,
  Marker,
} from 'maplibre-gl'
import { h } from '../core/dom.js'
import type { LineDrag } from './map-view.js'
import { roundPlace } from './round.js'

/** Pixels that the pointer moves before a press on the route is a drag. */
const THRESHOLD = 4
const LAYER = 'route-hit'

type Press = MapLayerMouseEvent | MapLayerTouchEvent

/** Lets the pointer or a finger seize the line of the route: a wide line that cannot be seen takes the press. */
export function dragLine(map: MapLibreMap, drag: LineDrag): void {
  const canvas = map.getCanvas()
  const grip = new Marker({ element: h('div', { class: 'grip', 'aria-hidden': 'true' }) })
  map.on('mousemove', LAYER, ({ lngLat }) => {
    canvas.style.cursor = 'grab'
    grip.setLngLat(lngLat).addTo(map)
  })
  map.on('mouseleave', LAYER, () => {
    canvas.style.cursor = ''
    grip.remove()
  })
  const press = (event: Press) => {
    if (!isSingle(event)) return
    event.preventDefault() // the map stays where it is
    follow(map, event, drag)
  }
  map.on('mousedown', LAYER, press)
  map.on('touchstart', LAYER, press)
}

function isSingle({ originalEvent }: Press): boolean {
  return 'touches' in originalEvent ? originalEvent.touches.length === 1 : originalEvent.button === 0
}

/** Follows one press to its end. */
function follow(map: MapLibreMap, { point: from, features, originalEvent }: Press, drag: LineDrag): void {
  const leg = Number(features?.[0]?.properties.leg ?? 0)
  const [moveName, endName] =
    'touches' in originalEvent ? (['touchmove', 'touchend'] as const) : (['mousemove', 'mouseup'] as const)
  let isDragged = false
  let last: [number, number] = roundPlace(map.unproject(from))
  const move = (event: MouseEvent | TouchEvent) => {
    const at = placeOf(map, event)
    if (at === undefined) return
    if (!isDragged && Math.hypot(at.x - from.x, at.y - from.y) < THRESHOLD) return
    last = roundPlace(map.unproject([at.x, at.y]))
    if (isDragged) drag.onMove(last)
    else drag.onStart(leg, last)
    isDragged = true
  }
  const end = () => {
    window.removeEventListener(moveName, move)
    window.removeEventListener(endName, end)
    if (isDragged) drag.onEnd(last)
  }
  window.addEventListener(moveName, move)
  window.addEventListener(endName, end)
}

/** Place of the pointer in the map, pixels; undefined for an event without one. */
function placeOf(map: MapLibreMap, event: MouseEvent | TouchEvent): { x: number; y: number } | undefined {
  const { left, top } = map.getCanvas().getBoundingClientRect()
  const pointer = 'touches' in event ? event.touches[0] : event
  return pointer === undefined ? undefined : { x: pointer.clientX - left, y: pointer.clientY - top }
}
