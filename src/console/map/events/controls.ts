import { fill, h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { button, field, select, whole } from '../../core/parts.js'
import type { TableInfo } from '../../core/tables.js'
import { mapState, RECORD_TIMES } from '../state.js'
import { labelOf } from './popup.js'
import { OPERATORS } from './read.js'

interface Controls {
  readonly tables: readonly TableInfo[]
  /** called when other records are to be read */
  onQuestion(): void
  /** called when only the colours are others */
  onColour(): void
}

/** Choices of the times, the colours and the filter of records; nothing while no table is shown. */
export function recordControls({ tables, onQuestion, onColour }: Controls) {
  const times = select(
    RECORD_TIMES.map((each) => [each, t(TIME_WORDS[each])] as const),
    mapState.recordTimes,
  )
  times.addEventListener('change', () => {
    mapState.recordTimes = RECORD_TIMES.find((each) => each === times.value) ?? 'all'
    onQuestion()
  })
  const colour = h('select', {})
  colour.addEventListener('change', () => {
    mapState.colourBy = colour.value === '' ? undefined : colour.value
    onColour()
  })
  const filter = filterForm(onQuestion)
  const element = h(
    'div',
    { class: 'stack tight' },
    h('div', { class: 'grid narrow' }, whole(field(t('recordTimes'), times)), field(t('colourBy'), colour)),
    filter.element,
  )
  const refresh = () => {
    element.hidden = mapState.events.size === 0
    times.value = mapState.recordTimes
    const columns = columnsOf(tables)
    if (mapState.colourBy !== undefined && !columns.includes(mapState.colourBy)) mapState.colourBy = undefined
    fillColumns(colour, columns, t('colourTable'))
    colour.value = mapState.colourBy ?? ''
    filter.refresh(columns)
  }
  refresh()
  return { element, refresh }
}

const TIME_WORDS = { all: 'recordsAll', brush: 'recordsBrush', at: 'recordsAt' } as const

/** Columns of the tables that are shown. */
function columnsOf(tables: readonly TableInfo[]): string[] {
  const names = tables
    .filter(({ data_name }) => mapState.events.has(data_name))
    .flatMap(({ record_def }) => Object.entries(record_def))
    .filter(([, { udt_name }]) => udt_name !== 'geometry' && udt_name !== 'bytea')
    .map(([name]) => name)
  return [...new Set(names)]
}

function fillColumns(list: HTMLSelectElement, columns: readonly string[], first: string): void {
  fill(
    list,
    h('option', { value: '' }, first),
    columns.map((name) => h('option', { value: name }, labelOf(name))),
  )
}

/** Form of the condition on records. */
function filterForm(onQuestion: () => void) {
  const column = h('select', {})
  const operator = select(
    OPERATORS.map((each) => [each, each === 'like' ? t('contains') : each] as const),
    mapState.recordFilter?.operator,
  )
  const value = h('input', { value: mapState.recordFilter?.value ?? '', autocomplete: 'off' })
  const take = (filter: typeof mapState.recordFilter) => {
    mapState.recordFilter = filter
    onQuestion()
  }
  const onsubmit = (event: Event) => {
    event.preventDefault()
    take(
      column.value === ''
        ? undefined
        : { column: column.value, operator: operator.value, value: value.value },
    )
  }
  const clear = () => {
    column.value = ''
    value.value = ''
    take(undefined)
  }
  return {
    element: h(
      'details',
      { open: mapState.recordFilter !== undefined },
      h('summary', {}, t('filterRecords')),
      h(
        'form',
        { class: 'stack tight', onsubmit },
        h('div', { class: 'grid narrow' }, field(t('column'), column), field(t('comparison'), operator)),
        field(t('value'), value),
        h(
          'div',
          { class: 'row' },
          h('button', { class: 'button small' }, t('apply')),
          button(t('clear'), clear, 'small'),
        ),
      ),
    ),
    refresh(columns: readonly string[]) {
      const kept = mapState.recordFilter?.column ?? column.value
      fillColumns(column, columns, '–')
      column.value = columns.includes(kept) ? kept : ''
    },
  }
}
