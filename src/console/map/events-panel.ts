import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { checkbox, statusLine } from '../core/parts.js'
import { clampedPolygon, readEvents, type TableInfo } from '../core/tables.js'
import { mapState } from './state.js'
import type { MapView } from './view.js'

/** Most records of one table in a view: more would cover the map and load the device. */
const MOST_EVENTS = 2000
const COLOURS = ['#8a3ffc', '#1192e8', '#d02670', '#198038', '#b28600', '#6929c4', '#005d5d', '#a2191f']

/** Panel that chooses tables and shows their records on the map. @param onShown called when the choice was changed */
export function eventsPanel(tables: readonly TableInfo[], view: MapView, onShown: () => void) {
  const fault = statusLine()
  const status = h('p', { class: 'soft small', role: 'status' })
  let running: AbortController | undefined
  const show = async () => {
    running?.abort()
    running = new AbortController()
    const { signal } = running
    fault.say('')
    try {
      const shown = tables.filter(({ data_name }) => mapState.events.has(data_name))
      const found = await Promise.all(shown.map((table) => readTable(table, view, signal)))
      view.setData('events', found.flat())
      const isCut = found.some((features) => features.length === MOST_EVENTS)
      const n = found.flat().length
      status.textContent = shown.length === 0 ? '' : t(isCut ? 'eventsCut' : 'eventsShown', { n })
    } catch (error) {
      if (!(error instanceof DOMException)) fault.bad(error)
    }
  }
  const readTable = async ({ data_name }: TableInfo, on: MapView, signal: AbortSignal) => {
    const properties = { table: data_name, limit: MOST_EVENTS }
    const features = await readEvents(properties, clampedPolygon(on.bounds()), signal)
    const _colour = colourOf(data_name, tables)
    return features.map((feature) => ({ ...feature, properties: { ...feature.properties, _colour } }))
  }
  const choose = (name: string, isOn: boolean) => {
    if (isOn) mapState.events.add(name)
    else mapState.events.delete(name)
    onShown()
    void show()
  }
  const element = h(
    'section',
    { 'aria-labelledby': 'events-title' },
    h('h2', { id: 'events-title' }, t('eventsTitle')),
    tables.length === 0 && h('p', { class: 'soft small' }, t('eventsNone')),
    h(
      'div',
      { class: 'row' },
      tables.map(({ data_name }) => tableBox(data_name, colourOf(data_name, tables), choose)),
    ),
    status,
    fault.element,
  )
  return { element, show }
}

/** Checkbox of a table, with the colour of its records. */
function tableBox(
  name: string,
  colour: string,
  choose: (name: string, isOn: boolean) => void,
): HTMLLabelElement {
  const swatch = h('span', { class: 'swatch' })
  swatch.style.background = colour
  const box = checkbox(name, {
    checked: mapState.events.has(name),
    onchange: (event: Event) => choose(name, (event.target as HTMLInputElement).checked),
  })
  box.insertBefore(swatch, box.lastChild)
  return box
}

function colourOf(name: string, tables: readonly TableInfo[]): string {
  const at = tables.findIndex(({ data_name }) => data_name === name)
  return COLOURS[at % COLOURS.length] ?? '#8a3ffc'
}
