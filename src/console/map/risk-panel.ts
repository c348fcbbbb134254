import { fill, h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import { localText } from '../core/inputs.js'
import { checkbox, field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { facts } from '../core/session.js'
import { clampedPolygon, readEvents } from '../core/tables.js'
import { curveEditor, PRESETS } from './curve.js'
import { mapState } from './state.js'
import type { MapView } from './view.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longest time range that one slider covers at first; longer data starts with one day. */
const LONG_MS = 31 * DAY_MS
/** Five minutes per step on a range of 24 h. */
const SLIDER_STEPS = 288

/**
 * Panel of the risk map: themes, time slider, and a sensitivity curve for each shown theme.
 *
 * @param onWeights called when a change affects routes
 * @param onShown called when the choice of themes was changed
 */
export function riskPanel(
  themes: ReadonlyMap<string, string>,
  view: MapView,
  { onWeights, onShown }: { onWeights: () => void; onShown: () => void },
) {
  const { show, status, fault } = riskLayer(view)
  const curves = h('div', { class: 'stack' })
  const showCurves = () => fill(curves, curveEditors(onWeights))
  const showAll = () => {
    void show()
    onWeights()
  }
  const time = timeControls(showAll)
  const choose = async (theme: string, table: string, isOn: boolean) => {
    if (isOn) mapState.themes.set(theme, [...PRESETS.presetCareful])
    else mapState.themes.delete(theme)
    onShown()
    showCurves()
    if (isOn && mapState.spanMs === undefined) {
      await fitSlider(table).catch(fault.bad)
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
  const degree = degreeChoice(() => void show())
  const none = () => h('p', { class: 'soft small' }, t('riskNone', { column: facts().levelColumn }))
  const parts = [h('div', { class: 'row' }, boxes), ...time.elements, degree, status, fault.element, curves]
  const element = h(
    'section',
    { 'aria-labelledby': 'risk-title' },
    h('h2', { id: 'risk-title' }, t('riskTitle')),
    themes.size === 0 ? none() : parts,
  )
  return { element, show }
}

/** One editor for each shown theme. */
function curveEditors(onWeights: () => void): HTMLElement[] {
  return [...mapState.themes].map(([theme, curve]) =>
    curveEditor(theme, curve, (next) => {
      mapState.themes.set(theme, next)
      onWeights()
    }),
  )
}

/** Layer with the cells of the chosen themes in the visible area. A newer request cancels the one before. */
function riskLayer(view: MapView) {
  const status = h('p', { class: 'soft small', role: 'status' })
  const fault = statusLine()
  let running: AbortController | undefined
  const show = async () => {
    running?.abort()
    running = new AbortController()
    const shown = [...mapState.themes.keys()]
    fault.say('')
    if (shown.length === 0) {
      view.setData('risk', [])
      status.textContent = ''
      return
    }
    try {
      const features = await readCells(shown, view, running.signal)
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
    geometry: clampedPolygon(view.bounds()),
    properties: {
      themes,
      start_datetime: new Date(atMs).toISOString(),
      ...(degree === 0 ? {} : { target_theme_mesh_degree: degree }),
    },
  }
  return (await call<{ features: object[] }>('mapserv.riskmap', params, signal)).features
}

/** Sets the slider to the time range of a theme, from its first start to its last end. */
async function fitSlider(table: string): Promise<void> {
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

/** Inputs of the time: an exact time, a slider over a range, and the choice of that range. */
function timeControls(onChange: () => void) {
  const slider = timeSlider(() => {
    exact.value = localText(mapState.atMs)
    onChange()
  })
  const exact = h('input', { type: 'datetime-local', step: 60 })
  const span = spanChoice()
  let dataSpan = mapState.spanMs
  const refresh = () => {
    dataSpan ??= mapState.spanMs
    slider.refresh()
    exact.value = localText(mapState.atMs)
  }
  exact.addEventListener('change', () => {
    const at = new Date(exact.value).getTime()
    if (Number.isNaN(at)) return
    mapState.atMs = at
    const [from, to] = spanNow()
    if (at < from || at > to) mapState.spanMs = [at - (to - from) / 2, at + (to - from) / 2]
    refresh()
    onChange()
  })
  span.addEventListener('change', () => {
    const wide = Number(span.value)
    mapState.spanMs = span.value === 'data' ? dataSpan : [mapState.atMs - wide / 2, mapState.atMs + wide / 2]
    refresh()
  })
  refresh()
  const inputs = h('div', { class: 'grid' }, field(t('riskTime'), exact), field(t('riskWindow'), span))
  return { refresh, elements: [slider.element, inputs] }
}

/** Time range of the slider, ms since 1970: that of the data, else a day around the chosen time. */
function spanNow(): [number, number] {
  return mapState.spanMs ?? [mapState.atMs - DAY_MS / 2, mapState.atMs + DAY_MS / 2]
}

/** Slider over the time range, and the chosen time in words. @param onChange called when it is let go */
function timeSlider(onChange: () => void) {
  const slider = h('input', {
    type: 'range',
    class: 'slider',
    min: 0,
    max: SLIDER_STEPS,
    step: 1,
    'aria-label': t('riskTime'),
  })
  const label = h('output', { class: 'small' })
  const name = () => {
    label.textContent = formatTime(mapState.atMs)
    slider.setAttribute('aria-valuetext', label.textContent)
  }
  const slide = () => {
    const [from, to] = spanNow()
    mapState.atMs = Math.round(from + ((to - from) * Number(slider.value)) / SLIDER_STEPS)
    name()
  }
  slider.addEventListener('input', slide)
  slider.addEventListener('change', () => {
    slide()
    onChange()
  })
  return {
    element: h('div', { class: 'stack tight' }, h('div', { class: 'row spread' }, label), slider),
    refresh() {
      const [from, to] = spanNow()
      slider.value = String(Math.round(((mapState.atMs - from) / (to - from)) * SLIDER_STEPS))
      name()
    },
  }
}

/** Choice of the time range: the lengths in ms, or `data` for that of the data. */
function spanChoice(): HTMLSelectElement {
  const span = select([
    [String(6 * HOUR_MS), t('windowHours', { n: 6 })],
    [String(DAY_MS), t('windowHours', { n: 24 })],
    [String(7 * DAY_MS), t('windowDays', { n: 7 })],
    ['data', t('windowAll')],
  ])
  span.value = 'data'
  return span
}
