import { h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { readPoint } from '../../core/inputs.js'
import { button, field, statusLine } from '../../core/parts.js'
import type { MapView } from '../map-view.js'

export type Corner = [number, number]

/** Corners of an area that is being drawn: on the map as they are set, and in a form that sets them by number. */
export function areaCorners(view: MapView) {
  let corners: Corner[] = []
  const count = h('span', { class: 'soft small', role: 'status' })
  const set = (next: Corner[]) => {
    corners = next
    view.setData('draft', featuresOf(corners))
    count.textContent = t('drawCorners', { n: corners.length })
    undo.disabled = corners.length === 0
  }
  const takeBack = () => set(corners.slice(0, -1))
  const undo = button(t('drawUndo'), takeBack, 'small', { disabled: true })
  const add = (corner: Corner) => set([...corners, corner])
  return {
    element: h(
      'div',
      { class: 'stack tight' },
      typedCorner(add),
      h('div', { class: 'row spread' }, count, undo),
    ),
    add,
    takeBack,
    clear: () => set([]),
    now: (): readonly Corner[] => corners,
  }
}

/** Input that adds a corner without a pointer. Enter adds it: the form around is another. */
function typedCorner(add: (corner: Corner) => void): HTMLElement {
  const input = h('input', { name: 'corner', autocomplete: 'off', placeholder: '139.70, 35.68' })
  const status = statusLine()
  const take = () => {
    const corner = readPoint(input.value)
    if (corner === undefined) return status.bad(t('badPoint'))
    status.say('')
    input.value = ''
    add(corner)
  }
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    take()
  })
  return h(
    'div',
    { class: 'stack tight' },
    h('div', { class: 'row end' }, field(t('drawTyped'), input), button(t('addPoint'), take)),
    status.element,
  )
}

/** Corners as points, and from two on the line, from three on the area between them. */
export function featuresOf(corners: readonly Corner[]): object[] {
  const feature = (geometry: object) => ({ type: 'Feature', geometry, properties: {} })
  const closed = [...corners, ...corners.slice(0, 1)]
  return [
    ...(corners.length > 2 ? [feature({ type: 'Polygon', coordinates: [closed] })] : []),
    ...(corners.length === 2 ? [feature({ type: 'LineString', coordinates: corners })] : []),
    ...corners.map((coordinates) => feature({ type: 'Point', coordinates })),
  ]
}
