import { h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { button, saveFile, statusLine } from '../../core/parts.js'
import { call } from '../../core/rpc.js'
import { type FoundRoute, mapState } from '../state.js'
import { routeParams } from './question.js'

/** Buttons that save a route. KML is made by the gateway when it is wanted: not at each step of a drag. */
export function downloads(found: FoundRoute): HTMLElement {
  const { features, length, time, total_cost, max_risk, avr_risk, exposure } = found.route
  const fault = statusLine()
  const collection = {
    type: 'FeatureCollection',
    properties: { length, time, total_cost, max_risk, avr_risk, exposure },
    features,
  }
  const question = kmlQuestion(found)
  const saveKml = async () => {
    try {
      fault.say('')
      saveFile('route.kml', 'application/vnd.google-earth.kml+xml', await question())
    } catch (error) {
      fault.bad(error)
    }
  }
  const saveGeoJson = () => saveFile('route.geojson', 'application/geo+json', JSON.stringify(collection))
  return h(
    'div',
    { class: 'stack tight' },
    h(
      'div',
      { class: 'row' },
      button(t('downloadAs', { format: 'KML' }), saveKml, 'small'),
      button(t('downloadAs', { format: 'GeoJSON' }), saveGeoJson, 'small'),
    ),
    fault.element,
  )
}

/** Asks for a route as KML, with the question by which it was found, also when that has changed since. */
function kmlQuestion({ kind, key }: FoundRoute): () => Promise<string> {
  const { themes, timeDependent } = mapState
  const curves =
    kind === 'fastest' ? [...themes.keys()].map((theme) => [theme, new Array(11).fill(0)] as const) : themes
  const at = kind === 'other' ? Number(key) : 0
  const params = {
    ...routeParams(new Map(curves)),
    with_kml: true,
    alternatives: at === 0 ? 1 : mapState.alternatives,
    depart: timeDependent ? 'time_dependent' : 'fixed',
  }
  type Kml = { kml: string; alternatives?: { kml: string }[] }
  return async () => {
    const answer = await call<Kml>('routing.dijkstra', [params])
    return (at === 0 ? answer : answer.alternatives?.[at - 1])?.kml ?? answer.kml
  }
}
