import { h } from '../../core/dom.js'
import { formatMetres, formatNumber, t } from '../../core/i18n.js'
import { badge, table } from '../../core/parts.js'
import type { MapView } from '../map-view.js'
import { type RouteFeature, riskColour } from '../state.js'
import { pointAt, roadRows } from './along.js'
import { noteText } from './note-text.js'

/** Table of the roads of a route, one row for each name. A row under the pointer is marked on the map. */
export function roadTable(features: readonly RouteFeature[], view: MapView): HTMLElement {
  const level = (risk: number) => {
    const swatch = h('span', { class: 'swatch' })
    swatch.style.background = riskColour(risk)
    return h('span', {}, swatch, String(risk))
  }
  const rows = roadRows(features)
  const element = table(
    t('arcs'),
    [t('road'), t('length'), t('speed'), t('risk')],
    rows.map(({ name, length, risk, speed, notes }) => [
      h(
        'span',
        { class: 'prose' },
        name === '' ? h('span', { class: 'soft' }, t('unnamed')) : name,
        notes.length > 0 &&
          h('span', { class: 'soft small note' }, notes.map((note) => noteText(note, t)).join('; ')),
      ),
      formatMetres(length),
      formatNumber(speed),
      level(risk),
    ]),
  )
  element.querySelectorAll('tbody tr').forEach((line, i) => {
    const row = rows[i]
    if (row === undefined) return
    line.addEventListener('pointerenter', () => view.setMark(pointAt(features, row.from + row.length / 2)))
    line.addEventListener('pointerleave', () => view.setMark(undefined))
  })
  return h(
    'div',
    { class: 'stack tight roads' },
    h('h3', {}, t('arcs'), ' ', badge(String(rows.length))),
    element,
  )
}
