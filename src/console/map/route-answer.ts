import { fill, h } from '../core/dom.js'
import { formatHours, formatMetres, formatNumber, t } from '../core/i18n.js'
import { badge, button, saveFile, table } from '../core/parts.js'
import { type RouteFeature, type RouteResult, riskColour } from './state.js'
import type { MapView } from './view.js'

/** Found routes: buttons to choose one; its risk on the map, its totals, and its roads in a table. */
export function routeAnswer(routes: readonly RouteResult[], view: MapView): HTMLElement {
  const detail = h('div', { class: 'stack' })
  const choose = (chosen: number) => {
    const route = routes[chosen]
    if (route === undefined) return
    view.setData('route', route.features)
    view.setData(
      'others',
      routes.filter((other) => other !== route).flatMap(({ features }) => features),
    )
    for (const [i, each] of buttons.entries()) each.setAttribute('aria-pressed', String(i === chosen))
    fill(detail, totals(route), downloads(route), roads(route.features))
  }
  const buttons = routes.map((_, i) => button(t('ways', { n: i + 1 }), () => choose(i), 'small'))
  choose(0)
  return h(
    'div',
    { class: 'stack', 'aria-live': 'polite' },
    routes.length > 1 && h('div', { class: 'row' }, buttons),
    detail,
  )
}

function totals({ length, time, total_cost, max_risk, avr_risk }: RouteResult): HTMLElement {
  const figure = (label: string, value: string) =>
    h('div', {}, h('b', {}, value), h('span', { class: 'soft small' }, label))
  return h(
    'div',
    { class: 'totals' },
    figure(t('length'), formatMetres(length)),
    figure(t('driving'), formatHours(time)),
    figure(t('cost'), formatHours(total_cost)),
    figure(t('highest'), String(max_risk)),
    figure(t('average'), formatNumber(avr_risk, 2)),
  )
}

function downloads({ kml, features, ...sums }: RouteResult): HTMLElement {
  const { length, time, total_cost, max_risk, avr_risk } = sums
  const collection = {
    type: 'FeatureCollection',
    properties: { length, time, total_cost, max_risk, avr_risk },
    features,
  }
  return h(
    'div',
    { class: 'row' },
    kml !== undefined &&
      button(
        `${t('download')} KML`,
        () => saveFile('route.kml', 'application/vnd.google-earth.kml+xml', kml),
        'small',
      ),
    button(
      `${t('download')} GeoJSON`,
      () => saveFile('route.geojson', 'application/geo+json', JSON.stringify(collection)),
      'small',
    ),
  )
}

/** A stretch of one road with one risk and one speed. */
interface RoadRow {
  name: string
  /** metres */
  length: number
  risk: number
  /** km/h */
  speed: number
  notes: Set<string>
}

/** Joins consecutive arcs of the same road, risk and speed. */
function roadRows(features: readonly RouteFeature[]): RoadRow[] {
  const rows: RoadRow[] = []
  for (const { properties } of features) {
    const last = rows[rows.length - 1]
    const { name, length, risk, speed, notes } = properties
    if (last !== undefined && last.name === name && last.risk === risk && last.speed === speed) {
      last.length += length
      for (const note of notes) last.notes.add(note)
    } else rows.push({ name, length, risk, speed, notes: new Set(notes) })
  }
  return rows
}

/** Table of the roads of a route. */
function roads(features: readonly RouteFeature[]): HTMLElement {
  const level = (risk: number) => {
    const swatch = h('span', { class: 'swatch' })
    swatch.style.background = riskColour(risk)
    return h('span', {}, swatch, String(risk))
  }
  return h(
    'div',
    { class: 'stack tight' },
    h('h3', {}, t('arcs'), ' ', badge(String(features.length))),
    table(
      t('arcs'),
      [t('road'), t('length'), t('speed'), t('risk'), t('notes')],
      roadRows(features).map((row) => [
        row.name === '' ? h('span', { class: 'soft' }, t('unnamed')) : row.name,
        formatMetres(row.length),
        formatNumber(row.speed, 1),
        level(row.risk),
        [...row.notes].join('; '),
      ]),
    ),
  )
}
