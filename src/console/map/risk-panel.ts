import { fill, h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import { checkbox, field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { facts } from '../core/session.js'
import { boxPolygon, readEvents } from '../core/tables.js'
import { curveEditor, PRESETS } from './curve.js'
import { mapState } from './state.js'
import type { MapView } from './view.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Data over a longer time than this is not put on one slider at once. */
const LONG_MS = 31 * DAY_MS
const SLIDER_STEPS = 288

/**
 * Themes, the time slider, and the sensitivities of what is shown.
 *
 * @param onWeights called when what a route depends on has changed
 */
export function riskPanel(themes: ReadonlyMap<string, string>, view: MapView, onWeights: () => void) {
  const { show, status, fault } = riskLayer(view)
  const curves = h('div', { class: 'stack' })
  const showCurves = () =>
    fill(
      curves,
      [...mapState.themes].map(([theme, curve]) =>
        curveEditor(theme, curve, (next) => {
          mapState.themes.set(theme, next)
          onWeights()
        }),
      ),
    )
  const showAll = () => {
    void show()
    onWeights()
  }
  const time = timeControls(showAll)
  const choose = async (theme: string, table: string, isOn: boolean) => {
    if (isOn) mapState.themes.set(theme, [...PRESETS.presetCareful])
    else mapState.themes.delete(theme)
    showCurves()
    if (isOn && mapState.spanMs === undefined) {
      await spanOf(table).catch(fault.bad)
      time.refresh()
    }
    showAll()
  }
  showCurves()
  const boxes = [...themes].map(([theme, table]) =>
    checkbox(theme, {
      checked: mapState.themes.has(theme),
      onchange: (event: Event) => void choose(theme, table, (event.target as HTMLInputElement).checked),
    }),
  )
  const element = h(
    'section',
    { 'aria-labelledby': 'risk-title' },
    h('h2', { id: 'risk-title' }, t('riskTitle')),
    themes.size === 0
      ? h('p', { class: 'soft small' }, t('riskNone', { column: facts().levelColumn }))
      : [
          h('div', { class: 'row' }, boxes),
          ...time.elements,
          degreeChoice(() => void show()),
          status,
          fault.element,
          curves,
        ],
  )
  return { element, show }
}

/** The cells of the chosen themes in what is seen of the map. */
function riskLayer(view: MapView) {
  const status = h('p', { class: 'soft small', role: 'status' })
  const fault = statusLine()
  let asked: AbortController | undefined
  const show = async () => {
    asked?.abort()
    asked = new AbortController()
    const shown = [...mapState.themes.keys()]
    fault.say('')
    if (shown.length === 0) {
      view.setData('risk', [])
      status.textContent = ''
      return
    }
    try {
      const features = await readCells(shown, view, asked.signal)
      view.setData('risk', features)
      status.textContent = t('riskShown', { n: features.length })
    } catch (error) {
      if (!(error instanceof DOMException)) fault.bad(error)
    }
  }
  return { show, status, fault }
}

function degreeChoice(onChange: () => void): HTMLElement {
  const degree = select(
    [['0', t('cellsStored')], ...[1, 2, 3, 4, 5].map((n) => [String(n), t('cellsDegree', { n })] as const)],
    String(mapState.degree),
  )
  degree.addEventListener('change', () => {
    mapState.degree = Number(degree.value)
    onChange()
  })
  return field(t('riskCells'), degree)
}

async function readCells(themes: string[], view: MapView, signal: AbortSignal): Promise<object[]> {
  const { degree, atMs } = mapState
  const params = {
    type: 'Feature',
    geometry: boxPolygon(clampBox(view.bounds())),
    properties: {
      themes,
      start_datetime: new Date(atMs).toISOString(),
      ...(degree === 0 ? {} : { target_theme_mesh_degree: degree }),
    },
  }
  return (await call<{ features: object[] }>('mapserv.riskmap', params, signal)).features
}

export function clampBox([west, south, east, north]: readonly [number, number, number, number]): [
  number,
  number,
  number,
  number,
] {
  return [Math.max(-180, west), Math.max(-90, south), Math.min(180, east), Math.min(90, north)]
}

/** Looks at the first and the last record of a theme, and sets the slider to where its data are. */
async function spanOf(table: string): Promise<void> {
  const ask = async (order: string, column: string) => {
    const [first] = await readEvents({ table, columns: [column], order, limit: 1 })
    return Date.parse(String(first?.properties[column] ?? ''))
  }
  const [from, to] = await Promise.all([
    ask('start_datetime', 'start_datetime'),
    ask('-end_datetime', 'end_datetime'),
  ])
  if (Number.isNaN(from) || Number.isNaN(to) || to <= from) return
  const isInside = mapState.atMs >= from && mapState.atMs < to
  if (to - from > LONG_MS) {
    const middle = isInside ? mapState.atMs : from
    mapState.spanMs = [middle - DAY_MS / 2, middle + DAY_MS / 2]
    mapState.atMs = middle
  } else {
    mapState.spanMs = [from, to]
    if (!isInside) mapState.atMs = from
  }
}

/** The moment: by hand, or by the slider over a span around it. */
function timeControls(onChange: () => void) {
  const slider = h('input', {
    type: 'range',
    class: 'slider',
    min: 0,
    max: SLIDER_STEPS,
    step: 1,
    'aria-label': t('riskTime'),
  })
  const exact = h('input', { type: 'datetime-local', step: 60 })
  const label = h('output', { class: 'small' })
  const span = select([
    [String(6 * HOUR_MS), t('windowHours', { n: 6 })],
    [String(DAY_MS), t('windowHours', { n: 24 })],
    [String(7 * DAY_MS), t('windowDays', { n: 7 })],
    ['data', t('windowAll')],
  ])
  let dataSpan = mapState.spanMs
  const spanNow = (): [number, number] =>
    mapState.spanMs ?? [mapState.atMs - DAY_MS / 2, mapState.atMs + DAY_MS / 2]
  const refresh = () => {
    dataSpan ??= mapState.spanMs
    const [from, to] = spanNow()
    slider.value = String(Math.round(((mapState.atMs - from) / (to - from)) * SLIDER_STEPS))
    exact.value = localText(mapState.atMs)
    label.textContent = formatTime(mapState.atMs)
    slider.setAttribute('aria-valuetext', label.textContent)
  }
  const slide = () => {
    const [from, to] = spanNow()
    mapState.atMs = Math.round(from + ((to - from) * Number(slider.value)) / SLIDER_STEPS)
    label.textContent = formatTime(mapState.atMs)
    slider.setAttribute('aria-valuetext', label.textContent)
  }
  slider.addEventListener('input', slide)
  slider.addEventListener('change', () => {
    slide()
    exact.value = localText(mapState.atMs)
    onChange()
  })
  exact.addEventListener('change', () => {
    const at = new Date(exact.value).getTime()
    if (Number.isNaN(at)) return
    mapState.atMs = at
    const [from, to] = spanNow()
    if (at < from || at > to) mapState.spanMs = [at - (to - from) / 2, at + (to - from) / 2]
    refresh()
    onChange()
  })
  span.value = 'data'
  span.addEventListener('change', () => {
    const wide = Number(span.value)
    mapState.spanMs = span.value === 'data' ? dataSpan : [mapState.atMs - wide / 2, mapState.atMs + wide / 2]
    refresh()
  })
  refresh()
  return {
    refresh,
    elements: [
      h('div', { class: 'stack tight' }, h('div', { class: 'row spread' }, label), slider),
      h('div', { class: 'grid' }, field(t('riskTime'), exact), field(t('riskWindow'), span)),
    ],
  }
}

/** What an input of type `datetime-local` takes. */
export function localText(ms: number): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16)
}
