import { fill, h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { readPoint } from '../../core/inputs.js'
import { button, field, statusLine } from '../../core/parts.js'
import { FIGURES_MS, seldom } from '../../core/seldom.js'
import type { MapView } from '../map-view.js'
import { mapState, pinLabel } from '../state.js'

type Point = [number, number]

/** Points of the route, in the panel and as pins. */
export interface RoutePoints {
  readonly element: HTMLElement
  /** replaces all */
  change(points: Point[], isLive?: boolean): void
  /** adds one: the first is the start, the second the destination; further ones go before the destination */
  add(point: Point): void
  /** puts one between others */
  insert(index: number, point: Point, isLive: boolean): void
  move(index: number, point: Point, isLive: boolean): void
  remove(index: number): void
}

/** @param onChange called after each change; `isLive` during a drag */
export function routePoints(view: MapView, onChange: (isLive: boolean) => void): RoutePoints {
  const list = h('ol', { class: 'points' })
  const places = seldom(FIGURES_MS, () => {
    for (const [index, place] of [...list.querySelectorAll('.place')].entries())
      place.textContent = placeText(index)
  })
  const refresh = (isLive = false) => {
    view.showPoints(mapState.points)
    if (isLive && list.children.length === mapState.points.length) return places.soon()
    // the buttons are new ones: the keyboard stays where it was
    const focused = list.contains(document.activeElement)
      ? document.activeElement?.getAttribute('aria-label')
      : undefined
    fill(
      list,
      mapState.points.map((_, index) => pointItem(index, points.change)),
    )
    for (const each of list.querySelectorAll('button'))
      if (each.getAttribute('aria-label') === focused) each.focus()
  }
  const points: RoutePoints = {
    element: h(
      'div',
      { class: 'stack' },
      list,
      typedPoint((point) => points.add(point)),
    ),
    change(next, isLive = false) {
      mapState.points = next
      refresh(isLive)
      onChange(isLive)
    },
    add(point) {
      const now = mapState.points
      points.change(now.length < 2 ? [...now, point] : [...now.slice(0, -1), point, ...now.slice(-1)])
    },
    insert: (index, point, isLive) =>
      points.change([...mapState.points.slice(0, index), point, ...mapState.points.slice(index)], isLive),
    move: (index, point, isLive) =>
      points.change(
        mapState.points.map((each, i) => (i === index ? point : each)),
        isLive,
      ),
    remove: (index) => points.change(mapState.points.filter((_, i) => i !== index)),
  }
  refresh()
  return points
}

/** Name of a point of the route. */
export function pointName(index: number, count: number): string {
  if (index === 0) return t('start')
  return index === count - 1 ? t('goal') : t('via', { n: index })
}

/** Name and position of a point. */
function placeText(index: number): string {
  const { points } = mapState
  const [lng, lat] = points[index] ?? [0, 0]
  return `${pointName(index, points.length)}: ${lng.toFixed(5)}, ${lat.toFixed(5)}`
}

/** List item of a point: its position, and buttons that move or remove it. */
function pointItem(index: number, change: (points: Point[]) => void): HTMLElement {
  const { points } = mapState
  const last = points.length - 1
  const name = pointName(index, points.length)
  const swap = (to: number) => {
    const next = [...mapState.points]
    const [moved] = next.splice(index, 1)
    if (moved !== undefined) next.splice(to, 0, moved)
    change(next)
  }
  const act = (label: string, sign: string, run: () => void, disabled = false) =>
    button(sign, run, 'small plain', { 'aria-label': label, title: label, disabled })
  return h(
    'li',
    {},
    h('span', { class: 'badge accent', 'aria-hidden': 'true' }, pinLabel(index, points.length)),
    h('span', { class: 'place' }, placeText(index)),
    act(t('moveUp', { name }), '↑', () => swap(index - 1), index === 0),
    act(t('moveDown', { name }), '↓', () => swap(index + 1), index === last),
    act(t('removePoint', { name }), '×', () => change(mapState.points.filter((_, i) => i !== index))),
  )
}

/** Form that adds a point without a pointer. */
function typedPoint(add: (point: Point) => void): HTMLElement {
  const input = h('input', { name: 'point', inputmode: 'text', placeholder: '139.70, 35.68' })
  const status = statusLine()
  const onsubmit = (event: Event) => {
    event.preventDefault()
    const point = readPoint(input.value)
    if (point === undefined) return status.bad(t('badPoint'))
    status.say('')
    input.value = ''
    add(point)
  }
  return h(
    'form',
    { class: 'stack tight', onsubmit },
    h(
      'div',
      { class: 'row end' },
      field(t('pointTyped'), input),
      h('button', { class: 'button' }, t('addPoint')),
    ),
    status.element,
  )
}
