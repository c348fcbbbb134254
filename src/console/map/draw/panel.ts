import { h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { localText } from '../../core/inputs.js'
import { field, statusLine, whole } from '../../core/parts.js'
import { facts } from '../../core/session.js'
import { type TableInfo, themeOf } from '../../core/tables.js'
import { PRESETS } from '../curve.js'
import type { MapView } from '../map-view.js'
import { mapState } from '../state.js'
import { areaCorners } from './corners.js'
import { isDrawn, saveArea } from './save-area.js'

const HOUR_MS = 3_600_000
const FIRST_LEVEL = 8
const THEME = 'drawn'

/**
 * Form that draws an area of risk: while it is open, clicks on the map set corners.
 *
 * @param onSaved called with a text when an area was stored: its theme is chosen, perhaps a new one
 */
export function drawPanel(view: MapView, tables: readonly TableInfo[], onSaved: (text: string) => void) {
  const corners = areaCorners(view)
  const inputs = areaInputs(tables)
  const status = statusLine()
  const save = async (event: Event) => {
    event.preventDefault()
    if (corners.now().length < 3) return status.bad(t('drawFew'))
    const { table, area } = inputs.read()
    try {
      const isSaved = await saveArea(table, { ...area, corners: corners.now() })
      if (!isSaved) return status.bad(t('drawOther', { name: table }))
      showTheme(table, area.startMs, area.endMs)
      onSaved(t('drawSaved', { name: table }))
    } catch (error) {
      status.bad(error)
    }
  }
  const element = h(
    'details',
    { ontoggle: () => (element.open ? inputs.begin() : corners.clear()) },
    h('summary', {}, t('drawTitle')),
    h(
      'form',
      { class: 'stack', onsubmit: save },
      h('p', { class: 'soft small' }, t('drawHint')),
      corners.element,
      inputs.element,
      status.element,
      h('div', {}, h('button', { class: 'button main' }, t('save'))),
    ),
  )
  element.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    element.open = false
    element.querySelector('summary')?.focus()
  })
  return {
    element,
    /** Takes a click on the map. @returns false when nothing is being drawn */
    take(point: [number, number]): boolean {
      if (element.open) corners.add(point)
      return element.open
    },
    /** Takes a key that was pressed on the map. */
    key(key: string) {
      if (!element.open) return
      if (key === 'Backspace') corners.takeBack()
      if (key === 'Escape') element.open = false
    },
  }
}

/** Fields of an area besides its corners. */
function areaInputs(tables: readonly TableInfo[]) {
  const { levelColumn } = facts()
  const drawn = tables.filter((table) => isDrawn(table, levelColumn)).map(({ data_name }) => data_name)
  const theme = h('input', {
    required: true,
    autocomplete: 'off',
    list: 'drawn-tables',
    value: drawn[0] ?? THEME,
  })
  const name = h('input', { required: true, autocomplete: 'off' })
  const level = h('input', { type: 'number', required: true, min: 0, max: 10, step: 1, value: FIRST_LEVEL })
  const start = h('input', { type: 'datetime-local', required: true })
  const end = h('input', { type: 'datetime-local' })
  return {
    element: h(
      'div',
      { class: 'grid narrow' },
      field(t('drawTheme'), theme),
      h(
        'datalist',
        { id: 'drawn-tables' },
        drawn.map((value) => h('option', { value })),
      ),
      field(t('level'), level),
      ...[
        field(t('drawName'), name),
        field(t('startTime'), start),
        field(t('endTime'), end, t('endTimeHint')),
      ].map(whole),
    ),
    /** proposes the time of the map, and a name that no earlier area has */
    begin() {
      start.value = localText(mapState.atMs)
      end.value = localText(mapState.atMs + HOUR_MS)
      name.value = new Date().toISOString().slice(0, 19)
    },
    read() {
      const endMs = end.value === '' ? undefined : new Date(end.value).getTime()
      const times = { startMs: new Date(start.value).getTime(), endMs }
      return {
        table: theme.value.trim(),
        area: { name: name.value.trim(), level: Number(level.value), ...times },
      }
    },
  }
}

/** Chooses the theme of a table, and a time at which the area is there. */
function showTheme(table: string, startMs: number, endMs = Number.POSITIVE_INFINITY): void {
  const theme = themeOf(table)
  if (!mapState.themes.has(theme)) mapState.themes.set(theme, [...PRESETS.presetCareful])
  if (mapState.atMs < startMs || mapState.atMs >= endMs) mapState.atMs = startMs
  mapState.isTimeChosen = true
}
