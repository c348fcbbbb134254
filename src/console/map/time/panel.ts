import { h } from '../../core/dom.js'
import { formatTime, t } from '../../core/i18n.js'
import { localText } from '../../core/inputs.js'
import { button, field, select } from '../../core/parts.js'
import { mapState } from '../state.js'
import { moveBrush, timeBrush } from './brush.js'
import type { Span } from './ends.js'
import { DAY_MS, HOUR_MS, spanNow, stepOf, stepsNow, timeOf } from './scale.js'

/** Time between two steps of the play, ms, and steps over the whole line. */
const FRAME_MS = 80
const FRAMES = 250

/**
 * Time of the risk map and of the start of routes: a line over all data with its ends, a marked range, play,
 * and an exact time.
 *
 * @param onTime called when the time changed; `isLive` while it is being moved
 * @param onBrush called when the marked range changed
 */
export function timePanel(onTime: (isLive: boolean) => void, onBrush: (isLive: boolean) => void) {
  const line = timeSlider((isLive) => {
    timeTaken()
    exact.value = localText(mapState.atMs)
    onTime(isLive)
  })
  const brush = timeBrush(onBrush)
  const exact = h('input', { type: 'datetime-local', step: 60 })
  const [first, last] = [h('span', {}), h('span', {})]
  let dataSpan: Span | undefined
  const range = rangeChoice()
  const refresh = () => {
    line.refresh()
    brush.refresh()
    exact.value = localText(mapState.atMs)
    const [from, to] = spanNow()
    first.textContent = formatTime(from)
    last.textContent = formatTime(to)
  }
  const zoom = () => {
    mapState.spanMs = rangeOf(range.value, dataSpan)
    refresh()
  }
  exact.addEventListener('change', () => {
    const at = new Date(exact.value).getTime()
    if (Number.isNaN(at)) return
    mapState.atMs = at
    timeTaken()
    const [from, to] = spanNow()
    if (at < from || at > to) mapState.spanMs = [at - (to - from) / 2, at + (to - from) / 2]
    refresh()
    onTime(false)
  })
  range.addEventListener('change', zoom)
  const play = player(refresh, onTime)
  refresh()
  return {
    element: h(
      'section',
      { 'aria-labelledby': 'time-title' },
      h('h2', { id: 'time-title' }, t('riskTime')),
      h('div', { class: 'row spread' }, line.label, play.button),
      h(
        'div',
        { class: 'timeline' },
        line.slider,
        brush.element,
        brush.label,
        h('div', { class: 'row spread soft small ends' }, first, last),
      ),
      h('div', { class: 'grid' }, field(t('riskMoment'), exact), field(t('riskWindow'), range)),
    ),
    refresh,
    /** sets the ends of the data; a time that nobody chose moves into them */
    fit(span: Span | undefined) {
      dataSpan = span
      if (span !== undefined && !mapState.isTimeChosen) {
        const isInside = mapState.atMs >= span[0] && mapState.atMs < span[1]
        if (!isInside) mapState.atMs = span[0]
      }
      zoom()
    },
    stop: play.stop,
  }
}

/** The user has chosen a time: with the first one records begin to follow it, unless a range is marked. */
function timeTaken(): void {
  if (!mapState.isTimeChosen && mapState.recordTimes === 'all') mapState.recordTimes = 'at'
  mapState.isTimeChosen = true
}

/** Slider over the time range, and the chosen time in words. */
function timeSlider(onChange: (isLive: boolean) => void) {
  const slider = h('input', {
    type: 'range',
    class: 'slider',
    min: 0,
    step: 1,
    'aria-label': t('riskTime'),
    oninput: () => slide(true),
    onchange: () => slide(false),
  })
  const label = h('output', { class: 'moment' })
  const name = () => {
    label.textContent = formatTime(mapState.atMs)
    slider.setAttribute('aria-valuetext', label.textContent)
  }
  const slide = (isLive: boolean) => {
    mapState.atMs = timeOf(Number(slider.value))
    name()
    onChange(isLive)
  }
  return {
    slider,
    label,
    refresh() {
      slider.max = String(stepsNow())
      slider.value = String(stepOf(mapState.atMs))
      name()
    },
  }
}

/** Button that lets the time run from where it is to the end of the line, and the marked range with it. */
function player(refresh: () => void, onTime: (isLive: boolean) => void) {
  let timer: number | undefined
  const stop = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    show()
    onTime(false)
  }
  const step = () => {
    const [from, to] = spanNow()
    const byMs = (to - from) / FRAMES
    const isMarked = mapState.brushMs !== undefined
    const isOver = isMarked ? !moveBrush(byMs) : mapState.atMs + byMs >= to
    mapState.atMs = Math.min(to, mapState.atMs + byMs)
    refresh()
    if (isOver) return stop()
    timer = window.setTimeout(step, FRAME_MS)
    onTime(true)
  }
  const start = () => {
    const [from, to] = spanNow()
    if (mapState.atMs >= to - (to - from) / FRAMES || mapState.atMs < from) mapState.atMs = from
    timeTaken()
    timer = window.setTimeout(step, 0)
    show()
  }
  const element = button('', () => (timer === undefined ? start() : stop()), 'small')
  const show = () => {
    element.textContent = timer === undefined ? `▶ ${t('play')}` : `❚❚ ${t('pause')}`
  }
  show()
  return { button: element, stop }
}

/** Choice of the time range: the lengths in ms, `data` for that of the data, `brush` for the marked one. */
function rangeChoice(): HTMLSelectElement {
  return select(
    [
      ['data', t('windowAll')],
      ['brush', t('windowBrush')],
      [String(7 * DAY_MS), t('windowDays', { n: 7 })],
      [String(DAY_MS), t('windowHours', { n: 24 })],
      [String(6 * HOUR_MS), t('windowHours', { n: 6 })],
    ],
    'data',
  )
}

/** Range of the line for a choice; undefined for a day around the time. */
function rangeOf(choice: string, data: Span | undefined): Span | undefined {
  if (choice === 'data') return data
  if (choice === 'brush') return mapState.brushMs ?? data
  return [mapState.atMs - Number(choice) / 2, mapState.atMs + Number(choice) / 2]
}
