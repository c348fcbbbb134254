import { h } from '../../core/dom.js'
import { formatTime, t } from '../../core/i18n.js'
import { mapState } from '../state.js'
import type { Span } from './ends.js'
import { spanNow, stepOf, stepsNow, timeOf } from './scale.js'

/**
 * Marked range of the time line: two sliders for its ends, and a band between them that moves both. A range
 * that covers the whole line marks nothing.
 */
export function timeBrush(onChange: (isLive: boolean) => void) {
  const end = (at: 0 | 1, label: string) => {
    const input = h('input', {
      type: 'range',
      min: 0,
      step: 1,
      'aria-label': label,
      oninput: () => take(at, Number(input.value), true),
      onchange: () => take(at, Number(input.value), false),
    })
    return input
  }
  const take = (at: 0 | 1, step: number, isLive: boolean) => {
    const [first, last] = stepsOfBrush()
    const next: Span = at === 0 ? [Math.min(step, last - 1), last] : [first, Math.max(step, first + 1)]
    setBrush(next)
    refresh()
    onChange(isLive)
  }
  const [from, to] = [end(0, t('brushFrom')), end(1, t('brushTo'))]
  const band = h('div', { class: 'band' })
  dragBand(band, (isLive) => {
    refresh()
    onChange(isLive)
  })
  const refresh = () => {
    const steps = stepsNow()
    const ends = stepsOfBrush()
    for (const [i, input] of [from, to].entries()) {
      input.max = String(steps)
      input.value = String(ends[i])
      input.setAttribute('aria-valuetext', formatTime(timeOf(ends[i] ?? 0)))
    }
    band.style.left = `${(ends[0] / steps) * 100}%`
    band.style.width = `${((ends[1] - ends[0]) / steps) * 100}%`
    element.classList.toggle('whole', mapState.brushMs === undefined)
    label.textContent = mapState.brushMs?.map(formatTime).join(' – ') ?? ''
  }
  const element = h('div', { class: 'brush' }, h('div', { class: 'rail' }, band), from, to)
  const label = h('div', { class: 'small' })
  return { element, label, refresh }
}

/** Steps of the ends of the marked range. */
function stepsOfBrush(): [number, number] {
  const { brushMs } = mapState
  if (brushMs === undefined) return [0, stepsNow()]
  const [from, to] = brushMs.map(stepOf)
  return [from ?? 0, Math.max((from ?? 0) + 1, to ?? 0)]
}

function setBrush([first, last]: Span): void {
  const isWhole = first <= 0 && last >= stepsNow()
  mapState.brushMs = isWhole ? undefined : [timeOf(Math.max(0, first)), timeOf(last)]
  if (!isWhole) mapState.recordTimes = 'brush'
  else if (mapState.recordTimes === 'brush') mapState.recordTimes = 'all'
}

/** Moves the marked range with its length, within the line. @returns false when it is at the end of the line */
export function moveBrush(byMs: number): boolean {
  const { brushMs } = mapState
  if (brushMs === undefined) return false
  const [from, to] = spanNow()
  const step = Math.min(to - brushMs[1], Math.max(from - brushMs[0], byMs))
  mapState.brushMs = [brushMs[0] + step, brushMs[1] + step]
  return step !== 0
}

/** Lets the pointer move the band. */
function dragBand(band: HTMLElement, onMove: (isLive: boolean) => void): void {
  let lastX: number | undefined
  band.addEventListener('pointerdown', (event) => {
    if (mapState.brushMs === undefined) return
    band.setPointerCapture(event.pointerId)
    lastX = event.clientX
    event.preventDefault()
  })
  band.addEventListener('pointermove', (event) => {
    if (lastX === undefined) return
    const width = band.parentElement?.clientWidth ?? 0
    const [from, to] = spanNow()
    moveBrush(((event.clientX - lastX) / Math.max(1, width)) * (to - from))
    lastX = event.clientX
    onMove(true)
  })
  const end = () => {
    if (lastX === undefined) return
    lastX = undefined
    onMove(false)
  }
  band.addEventListener('pointerup', end)
  band.addEventListener('pointercancel', end)
}
