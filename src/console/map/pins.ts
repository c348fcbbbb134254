import { type Map as MapLibreMap, Marker } from 'maplibre-gl'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import type { PinEvents } from './map-view.js'
import { roundPlace } from './round.js'
import { pointName } from './route/points.js'
import { pinLabel } from './state.js'

/** Pixels by which an arrow key moves a pin; ten times as far with shift. */
const KEY_STEP = 8

/** Pins of the points of the route. Those that exist are moved: one of them may be under the pointer. */
export function createPins(map: MapLibreMap, events: PinEvents) {
  const markers: Marker[] = []
  const add = (index: number, point: [number, number]) => {
    const marker = new Marker({ element: pinElement(), draggable: true, anchor: 'bottom' })
      .setLngLat(point)
      .addTo(map)
    const element = marker.getElement()
    // the library has set these for a marker that does nothing
    element.setAttribute('role', 'button')
    element.tabIndex = 0
    marker.on('drag', () => events.onDragging(index, roundPlace(marker.getLngLat())))
    marker.on('dragend', () => events.onDragged(index, roundPlace(marker.getLngLat())))
    element.addEventListener('keydown', (event) => {
      if (event.key === 'Delete') events.onRemove(index)
      const step = stepOf(event)
      if (step === undefined) return
      event.preventDefault()
      event.stopPropagation() // else the map moves
      const { x, y } = map.project(marker.getLngLat())
      events.onDragged(index, roundPlace(map.unproject([x + step[0], y + step[1]])))
    })
    markers.push(marker)
  }
  return {
    show(points: readonly [number, number][]) {
      for (const marker of markers.splice(points.length)) marker.remove()
      for (const [index, point] of points.entries()) {
        const marker = markers[index]
        if (marker === undefined) add(index, point)
        else marker.setLngLat(point)
        label(markers[index], index, points.length)
      }
    },
  }
}

function pinElement(): HTMLElement {
  return h('div', { class: 'pin-box' }, h('div', { class: 'pin' }, h('span', {})))
}

function label(marker: Marker | undefined, index: number, count: number): void {
  const element = marker?.getElement()
  const text = element?.querySelector('span')
  if (element === undefined || text === null || text === undefined) return
  text.textContent = pinLabel(index, count)
  element.setAttribute('aria-label', t('pin', { name: pointName(index, count) }))
}

/** Pixels by which a key moves a pin; undefined for other keys. */
function stepOf({ key, shiftKey }: KeyboardEvent): [number, number] | undefined {
  const step = shiftKey ? KEY_STEP * 10 : KEY_STEP
  const steps: Record<string, [number, number]> = {
    ArrowLeft: [-step, 0],
    ArrowRight: [step, 0],
    ArrowUp: [0, -step],
    ArrowDown: [0, step],
  }
  return steps[key]
}
