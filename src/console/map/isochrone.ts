import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, field, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { mapState } from './state.js'
import type { MapView } from './view.js'

/** Form that shows the areas reachable from the start within some numbers of minutes. */
export function isochroneForm(view: MapView): HTMLElement {
  const minutes = h('input', { name: 'minutes', value: '5, 10, 15', inputmode: 'text' })
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const costs = minutes.value
      .split(/[\s,;]+/)
      .filter((part) => part !== '')
      .map((part) => Number(part) / 60)
    const [start] = mapState.points
    if (start === undefined) return status.bad(t('routeHint'))
    try {
      view.setData('isochrone', await readAreas(start, costs))
      status.say('')
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'details',
    {},
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
        button(t('clear'), () => view.setData('isochrone', [])),
      ),
      status.element,
    ),
  )
}

/** Reads the areas reachable from a point under the chosen risk, time and map. @param costs hours */
async function readAreas(lonlat: [number, number], costs: number[]): Promise<object[]> {
  const { themes, atMs, mapName } = mapState
  const answer = await call<{ features: object[] }>('routing.isochrone', {
    lonlat,
    costs,
    themes: Object.fromEntries(themes),
    start_datetime: new Date(atMs).toISOString(),
    ...(mapName === undefined ? {} : { map: mapName }),
  })
  return answer.features
}
