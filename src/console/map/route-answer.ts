import { fill, h } from '../core/dom.js'
import { formatHours, formatMetres, formatNumber, t } from '../core/i18n.js'
import { badge, button, saveFile, table } from '../core/parts.js'
import { type RouteFeature, type RouteResult, riskColour } from './state.js'
import type { MapView } from './view.js'

/** The ways that were found: the chosen one on the map by its risk, its sums, and its roads in a table. */
export function routeAnswer(ways: readonly RouteResult[], view: MapView): HTMLElement {
  const detail = h('div', { class: 'stack' })
  const choose = (chosen: number) => {
    const way = ways[chosen]
    if (way === undefined) return
    view.setData('route', way.features)
    view.setData(
      'others',
      ways.filter((other) => other !== way).flatMap(({ features }) => features),
    )
    for (const [i, each] of buttons.entries()) each.setAttribute('aria-pressed', String(i === chosen))
    fill(detail, totals(way), downloads(way), roads(way.features))
  }
  const buttons = ways.map((_, i) => button(t('ways', { n: i + 1 }), () => choose(i), 'small'))
  choose(0)
  return h(
    'div',
    { class: 'stack', 'aria-live': 'polite' },
    ways.length > 1 && h('div', { class: 'row' }, buttons),
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

/** Arcs of one road that follow each other with the same risk are one row. */
function roads(features: readonly RouteFeature[]): HTMLElement {
  const rows: {
    name: string
    length: number
    time: number
    risk: number
    speed: number
    notes: Set<string>
    arcs: number
  }[] = []
  for (const { properties } of features) {
    const last = rows[rows.length - 1]
    const { name, length, time, risk, speed, notes } = properties
    if (last !== undefined && last.name === name && last.risk === risk && last.speed === speed) {
      last.length += length
      last.time += time
      last.arcs++
      for (const note of notes) last.notes.add(note)
    } else rows.push({ name, length, time, risk, speed, notes: new Set(notes), arcs: 1 })
  }
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
      rows.map((row) => [
        row.name === '' ? h('span', { class: 'soft' }, t('unnamed')) : row.name,
        formatMetres(row.length),
        formatNumber(row.speed, 1),
        level(row.risk),
        [...row.notes].join('; '),
      ]),
    ),
  )
}
