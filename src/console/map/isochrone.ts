import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { newest } from '../core/newest.js'
import { button, field, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { MapView } from './map-view.js'
import { mapState } from './state.js'

/** Colours of areas from the nearest to the widest. */
const COLOURS = [
  ...['#0b7a3b', '#c9a400', '#d9601a', '#b3204f', '#6f2da8'],
  ...['#2b4bb5', '#00838f', '#5d6d1e', '#8d5a2b', '#555555'],
]
const MOST = 10

/**
 * Form that shows the areas reachable from the start within some numbers of minutes.
 *
 * @param onChange called when areas were shown or removed
 */
export function isochroneForm(view: MapView, onChange: () => void) {
  const minutes = h('input', {
    name: 'minutes',
    value: (mapState.minutes ?? [5, 10, 15]).join(', '),
    inputmode: 'text',
  })
  const status = statusLine()
  const legend = h('ul', { class: 'swatches', 'aria-label': t('isochroneTitle') })
  const clear = () => {
    mapState.minutes = undefined
    view.setData('isochrone', [])
    fill(legend)
    status.say('')
  }
  const show = async (signal: AbortSignal) => {
    const [start] = mapState.points
    const limits = mapState.minutes
    if (start === undefined || limits === undefined) return view.setData('isochrone', [])
    try {
      const features = await readAreas(start, limits, signal)
      if (signal.aborted) return
      view.setData('isochrone', features)
      fill(legend, limits.map(legendItem))
      status.say('')
    } catch (error) {
      if (!signal.aborted) status.bad(error)
    }
  }
  const latest = newest(show)
  const onsubmit = (event: Event) => {
    event.preventDefault()
    const limits = minutesOf(minutes.value)
    if (mapState.points[0] === undefined) return status.bad(t('isochroneNoStart'))
    if (limits === undefined) return status.bad(t('badMinutes', { n: MOST }))
    mapState.minutes = limits
    latest.now()
    onChange()
  }
  const element = h(
    'details',
    { open: mapState.minutes !== undefined },
    h('summary', {}, t('isochroneTitle')),
    h(
      'form',
      { class: 'stack tight', onsubmit },
      h('p', { class: 'soft small' }, t('isochroneHint')),
      field(t('minutes'), minutes),
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'button' }, t('showIsochrone')),
        button(t('clear'), () => {
          clear()
          onChange()
        }),
      ),
      legend,
      status.element,
    ),
  )
  return {
    element,
    /** shows the areas of the current start, risk and time, if any are shown */
    follow() {
      if (mapState.minutes !== undefined) latest.now()
    },
  }
}

function legendItem(minutes: number, at: number): HTMLElement {
  const swatch = h('span', { class: 'swatch' })
  swatch.style.background = COLOURS[at % COLOURS.length] ?? ''
  return h('li', {}, swatch, t('minutesShort', { n: formatNumber(minutes, 1) }))
}

/** Reads minutes, the shortest first; undefined for none, too many, or what is no number above 0. */
export function minutesOf(text: string): number[] | undefined {
  const parts = text.split(/[\s,;、]+/).filter((part) => part !== '')
  const limits = [...new Set(parts.map(Number))].sort((a, b) => a - b)
  const isGood = limits.every((each) => Number.isFinite(each) && each > 0 && each <= 600_000)
  return limits.length === 0 || limits.length > MOST || !isGood ? undefined : limits
}

/** Reads the areas reachable from a point under the chosen risk, time and map; the widest is drawn first. */
async function readAreas(
  lonlat: [number, number],
  minutes: readonly number[],
  signal: AbortSignal,
): Promise<object[]> {
  const { themes, atMs, mapName } = mapState
  const params = {
    lonlat,
    costs: minutes.map((each) => each / 60),
    themes: Object.fromEntries(themes),
    start_datetime: new Date(atMs).toISOString(),
    ...(mapName === undefined ? {} : { map: mapName }),
  }
  type Area = { properties: object }
  const { features } = await call<{ features: Area[] }>('routing.isochrone', params, signal)
  return features
    .map((feature, at) => ({
      ...feature,
      properties: { ...feature.properties, colour: COLOURS[at % COLOURS.length] },
    }))
    .reverse()
}
