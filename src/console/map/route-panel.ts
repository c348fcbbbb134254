import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { readPoint } from '../core/inputs.js'
import { button, checkbox, field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { facts } from '../core/session.js'
import { isochroneForm } from './isochrone.js'
import { routeAnswer } from './route-answer.js'
import { mapState, pinLabel, type RouteFeature, type RouteResult } from './state.js'
// a type only: view.js brings the map library, which only the map page loads
import type { MapView } from './view.js'

/** Delay of a search after a change: changes come in bursts while a marker or a slider is dragged. */
const SETTLE_MS = 150
const MAX_ROUTES = 5

/** Panel of the route search: points, options and the found routes. */
export function routePanel(view: MapView) {
  const list = h('ol', { class: 'points' })
  const { search, searchSoon, element: answer } = routeSearch(view)
  const changePoints = (points: [number, number][]) => {
    mapState.points = points
    refresh()
    searchSoon()
  }
  const refresh = () => {
    view.showPoints(mapState.points)
    fill(
      list,
      mapState.points.map((_, index) => pointItem(index, changePoints)),
    )
  }
  /** The first point is the start, the second the destination; further ones go before the destination. */
  const add = (point: [number, number]) => {
    const { points } = mapState
    changePoints(
      points.length < 2 ? [...points, point] : [...points.slice(0, -1), point, ...points.slice(-1)],
    )
  }
  refresh()
  const element = h(
    'section',
    { 'aria-labelledby': 'route-title' },
    h('h2', { id: 'route-title' }, t('routeTitle')),
    h('p', { class: 'soft small' }, t('routeHint')),
    list,
    typedPoint(add),
    searchOptions(searchSoon),
    h(
      'div',
      { class: 'row' },
      button(t('findRoute'), search, 'main'),
      button(t('clearRoute'), () => changePoints([])),
    ),
    answer,
    isochroneForm(view),
  )
  return {
    element,
    add,
    move: (index: number, point: [number, number]) =>
      changePoints(mapState.points.map((each, i) => (i === index ? point : each))),
    searchSoon,
  }
}

/** Search that shows the found routes or the error. A newer search cancels the one before. */
function routeSearch(view: MapView) {
  const answer = h('div', { class: 'stack' })
  const fault = statusLine()
  let running: AbortController | undefined
  let timer: number | undefined
  const clear = () => {
    fault.say('')
    fill(answer)
    view.setData('route', [])
    view.setData('others', [])
  }
  const search = async () => {
    running?.abort()
    if (mapState.points.length < 2) return clear()
    running = new AbortController()
    const { signal } = running
    try {
      const routes = await findRoutes(signal)
      if (signal.aborted) return
      fault.say('')
      fill(answer, routeAnswer(routes, view))
    } catch (error) {
      if (error instanceof DOMException) return
      clear()
      fault.bad(error)
    }
  }
  return {
    search,
    element: h('div', { class: 'stack' }, fault.element, answer),
    searchSoon() {
      clearTimeout(timer)
      timer = window.setTimeout(() => void search(), SETTLE_MS)
    },
  }
}

async function findRoutes(signal: AbortSignal): Promise<RouteResult[]> {
  const { points, themes, atMs, reorder, timeDependent, alternatives, mapName } = mapState
  const params = {
    themes: Object.fromEntries(themes),
    start_lonlat: points[0],
    goal_lonlat: points[points.length - 1],
    via: points.slice(1, -1),
    start_datetime: new Date(atMs).toISOString(),
    reorder_waypoints: reorder,
    with_kml: true,
    alternatives: timeDependent ? 1 : alternatives,
    depart: timeDependent ? 'time_dependent' : 'fixed',
    ...(mapName === undefined ? {} : { map: mapName }),
  }
  type Wire = Omit<RouteResult, 'features'> & Record<string, unknown>
  const result = await call<Wire & { alternatives?: Wire[] }>('routing.dijkstra', [params], signal)
  const read = (route: Wire): RouteResult => ({
    ...route,
    // the setting service.routeKey names the property of the road features
    features: (route[facts().routeKey] as { features: RouteFeature[] }).features,
  })
  return [result, ...(result.alternatives ?? [])].map(read)
}

/** List item of a point: its position, and buttons that move or remove it. */
function pointItem(index: number, change: (points: [number, number][]) => void): HTMLElement {
  const { points } = mapState
  const [lng, lat] = points[index] ?? [0, 0]
  const last = points.length - 1
  const name = index === 0 ? t('start') : index === last ? t('goal') : t('via', { n: index })
  const swap = (to: number) => {
    const next = [...points]
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
    h('span', { class: 'place' }, `${name}: ${lng.toFixed(5)}, ${lat.toFixed(5)}`),
    act(t('moveUp', { name }), '↑', () => swap(index - 1), index === 0),
    act(t('moveDown', { name }), '↓', () => swap(index + 1), index === last),
    act(t('removePoint', { name }), '×', () => change(points.filter((_, i) => i !== index))),
  )
}

/** Form that adds a point without a pointer. */
function typedPoint(add: (point: [number, number]) => void): HTMLElement {
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

function searchOptions(onChange: () => void): HTMLElement {
  const most = Math.min(MAX_ROUTES, facts().maxAlternatives)
  const count = select(
    Array.from({ length: most }, (_, i) => [String(i + 1), String(i + 1)] as const),
    String(mapState.alternatives),
  )
  count.disabled = mapState.timeDependent
  count.addEventListener('change', () => {
    mapState.alternatives = Number(count.value)
    onChange()
  })
  const flag = (label: string, key: 'reorder' | 'timeDependent') =>
    checkbox(label, {
      checked: mapState[key],
      onchange: (event: Event) => {
        mapState[key] = (event.target as HTMLInputElement).checked
        count.disabled = mapState.timeDependent
        onChange()
      },
    })
  return h(
    'div',
    { class: 'stack tight' },
    flag(t('reorder'), 'reorder'),
    flag(t('timeDependent'), 'timeDependent'),
    field(t('alternatives'), count),
  )
}
