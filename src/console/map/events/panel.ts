import { fill, h } from '../../core/dom.js'
import { formatNumber, t } from '../../core/i18n.js'
import { newest } from '../../core/newest.js'
import { faultNotice } from '../../core/parts.js'
import type { EventFeature, TableInfo } from '../../core/tables.js'
import { chooseTables } from '../choose-tables.js'
import type { MapView, RecordOfMap } from '../map-view.js'
import { mapState } from '../state.js'
import { colouringOf, tableColour } from './colours.js'
import { recordControls } from './controls.js'
import { legendItems } from './legend.js'
import { countRecords, MOST_RECORDS, readPages } from './read.js'

/** A record that is shown, with the place of its table in the list. */
interface Shown {
  readonly feature: EventFeature
  readonly tableAt: number
}

/** Panel that chooses tables and shows their records on the map. @param onShown called when the choice was changed */
export function eventsPanel(tables: readonly TableInfo[], view: MapView, onShown: () => void) {
  const layer = recordLayer(tables, view)
  const controls = recordControls({
    tables,
    onQuestion: layer.now,
    onColour: layer.draw,
  })
  const choose = (name: string, isOn: boolean) => {
    if (isOn) mapState.events.add(name)
    else mapState.events.delete(name)
    controls.refresh()
    layer.now()
    onShown()
  }
  const names = tables.map(({ data_name }) => data_name)
  const element = h(
    'section',
    { 'aria-labelledby': 'events-title' },
    h('h2', { id: 'events-title' }, t('eventsTitle')),
    tables.length === 0 && h('p', { class: 'soft small' }, t('eventsNone')),
    chooseTables({
      names,
      label: t('filterTables'),
      isChosen: (name) => mapState.events.has(name),
      choose,
      colourOf: (name) => tableColour(names.indexOf(name)),
    }),
    controls.element,
    layer.element,
  )
  const { live, now, stop, recordAt } = layer
  return { element, live, now, stop, recordAt, refresh: controls.refresh }
}

/** Records of the chosen tables in the visible area. */
function recordLayer(tables: readonly TableInfo[], view: MapView) {
  const status = h('p', { class: 'soft small', role: 'status' })
  const legend = h('ul', { class: 'swatches' })
  const fault = h('div')
  let shown: Shown[] = []
  const draw = () => {
    const { colourBy } = mapState
    const colouring =
      colourBy === undefined
        ? undefined
        : colouringOf(
            shown.map(({ feature }) => feature),
            colourBy,
          )
    fill(legend, colouring === undefined ? [] : legendItems(colouring))
    const features = shown.flatMap(({ feature: { geometry, properties }, tableAt }, at) => {
      if (geometry === null) return []
      const colour = colouring?.colourOf(properties[colourBy ?? '']) ?? tableColour(tableAt)
      return [{ type: 'Feature', geometry, properties: { at, colour } }]
    })
    const isPoint = ({ geometry }: { geometry: GeoJSON.Geometry }) => geometry.type === 'Point'
    view.setData('points', features.filter(isPoint))
    view.setData(
      'shapes',
      features.filter((feature) => !isPoint(feature)),
    )
  }
  const show = async (signal: AbortSignal, isLive: boolean) => {
    const chosen = tables.filter(({ data_name }) => mapState.events.has(data_name))
    const area = view.bounds()
    const found = new Map<number, readonly EventFeature[]>()
    const take = () => {
      shown = [...found].flatMap(([tableAt, features]) => features.map((feature) => ({ feature, tableAt })))
      draw()
    }
    try {
      const isCut = await Promise.all(
        chosen.map((table) => {
          const tableAt = tables.indexOf(table)
          return readPages(table, area, signal, (features) => {
            if (signal.aborted) return
            found.set(tableAt, features)
            // the first page of each table is shown at once
            if (found.size === chosen.length) take()
          })
        }),
      )
      if (signal.aborted) return
      if (chosen.length === 0) take()
      fill(fault)
      const isMore = isCut.some((each) => each)
      if (isLive || !isMore) status.textContent = statusText(chosen.length, shown.length, isMore)
      else status.textContent = await countedText(chosen, area, shown.length, signal)
    } catch (error) {
      if (!signal.aborted) fill(fault, faultNotice(error, latest.now))
    }
  }
  const latest = newest(show)
  return {
    ...latest,
    draw,
    element: h('div', { class: 'stack tight' }, status, legend, fault),
    recordAt(index: number): RecordOfMap | undefined {
      const record = shown[index]
      if (record === undefined) return undefined
      return { table: tables[record.tableAt]?.data_name ?? '', properties: record.feature.properties }
    },
  }
}

function statusText(tables: number, n: number, isMore: boolean): string {
  if (tables === 0) return ''
  if (n === 0) return t('eventsNothing')
  return isMore ? t('eventsCut', { n: formatNumber(n) }) : t('eventsShown', { n: formatNumber(n) })
}

/** Text for a view with more records than are shown, with their number where the gateway tells it. */
async function countedText(
  tables: readonly TableInfo[],
  area: ReturnType<MapView['bounds']>,
  n: number,
  signal: AbortSignal,
): Promise<string> {
  const counts = await Promise.all(tables.map((table) => countRecords(table, area, signal)))
  if (counts.some((count) => count === undefined)) return t('eventsCut', { n: formatNumber(n) })
  const total = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
  return t('eventsOf', { n: formatNumber(n), m: formatNumber(total), most: formatNumber(MOST_RECORDS) })
}
