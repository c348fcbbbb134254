import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, empty } from '../core/parts.js'
import { geometryText } from '../import/preview.js'
import { cellText } from './cell-text.js'
import { shortTime } from './short-time.js'
import type { GridRow, GridSource } from './source.js'
import type { GridColumn } from './state.js'

interface RowEvents {
  readonly sort: string
  onSort(sort: string): void
  /** positions of the rows that are chosen */
  onChosen(positions: ReadonlySet<number>): void
  onRemove(row: GridRow): void
  onSaved(): void
}

/** Table of rows: heads sort, a click on a row shows it on the map. */
export function rowTable(source: GridSource, rows: readonly GridRow[], events: RowEvents) {
  if (rows.length === 0) return { element: empty(t('noRows')), choose: () => undefined }
  const { columns } = source
  const hasPlace = rows.some(({ geometry }) => geometry !== null)
  const hasActions = source.edit !== undefined || source.remove !== undefined
  const labels = [
    ...columns.map(({ name }) => name),
    ...(hasPlace ? [t('geometry')] : []),
    ...(hasActions ? [t('actions')] : []),
  ]
  const lines = rows.map((row, position) => {
    const cells = [
      ...columns.map((column) => textOf(row, column)),
      ...(hasPlace ? [geometryText(row.geometry)] : []),
      ...(hasActions ? [actionsOf(source, row, events)] : []),
    ]
    const line = h(
      'tr',
      { role: 'row', tabindex: hasPlace ? 0 : undefined },
      cells.map((cell, at) =>
        h(
          'td',
          { role: 'cell', title: typeof cell === 'string' ? cell : undefined, 'data-label': labels[at] },
          cell,
        ),
      ),
    )
    line.addEventListener('click', () => choose(position))
    line.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && event.target === line) choose(position)
    })
    return line
  })
  const choose = (position: number) => {
    for (const [at, line] of lines.entries()) {
      line.classList.toggle('chosen', at === position)
      line.ariaCurrent = at === position ? 'true' : null
    }
    lines[position]?.scrollIntoView({ block: 'nearest' })
    events.onChosen(new Set([position]))
  }
  const heads = columns.map(({ name, isComparable }) => sortHead(name, isComparable, events))
  const rest = labels
    .slice(columns.length)
    .map((text) => h('th', { scope: 'col', role: 'columnheader' }, text))
  const element = h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('tabRows') },
    h(
      'table',
      { role: 'table' },
      h('caption', { class: 'hidden-text' }, t('tabRows')),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads, rest)),
      h('tbody', { role: 'rowgroup' }, lines),
    ),
  )
  return { element, choose }
}

function textOf({ values }: GridRow, { name, isTime }: GridColumn): string | HTMLElement {
  const text = cellText(values[name])
  return isTime === true && text !== '' ? timeOf(shortTime(text)) : text
}

/** A time, which a narrow page breaks between date and time of day alone. */
function timeOf(text: string): HTMLElement {
  const at = text.indexOf('T') + 1
  const whole = (part: string) => h('span', { class: 'whole-text' }, part)
  return h('span', { title: text }, whole(text.slice(0, at)), h('wbr'), whole(text.slice(at)))
}

/** Head of a column: a button that sorts by it, ascending, then descending. */
function sortHead(name: string, isComparable: boolean, { sort, onSort }: RowEvents): HTMLElement {
  const direction = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined
  const mark = direction === undefined ? '' : direction === 'ascending' ? ' ↑' : ' ↓'
  const next = direction === 'ascending' ? `-${name}` : name
  return h(
    'th',
    { scope: 'col', role: 'columnheader', 'aria-sort': direction },
    isComparable ? button(`${name}${mark}`, () => onSort(next), 'head') : name,
  )
}

function actionsOf(
  { edit, remove }: GridSource,
  row: GridRow,
  { onRemove, onSaved }: RowEvents,
): HTMLElement {
  return h(
    'div',
    { class: 'row' },
    edit !== undefined && button(t('edit'), () => edit(row, onSaved), 'small'),
    remove !== undefined && button(t('remove'), () => onRemove(row), 'small bad'),
  )
}
