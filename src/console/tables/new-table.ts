import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, checkbox, columnList, field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { COLUMN_TYPES, definitionOf, type FormColumn } from './column-types.js'

/** Columns that every table has by itself. */
const RESERVED = ['start_datetime', 'end_datetime']

/** A column of the new table, and whether it belongs to the unique key. */
interface NewColumn extends FormColumn {
  readonly name: string
  readonly isKey: boolean
}

interface ColumnRow {
  element: HTMLElement
  read(): NewColumn
}

/** Form that creates a table: name, columns, unique key. */
export function newTableForm(): HTMLElement {
  const name = h('input', { name: 'data_name', required: true, autocomplete: 'off' })
  const rows: ColumnRow[] = []
  const list = h('div', { class: 'stack tight' })
  const status = statusLine()
  const keyTimes = RESERVED.map((column) => checkbox(column, { name: 'key-time', value: column }))
  const add = (suggestion = '') => {
    const row = columnRow(rows.length + 1, suggestion, () => {
      rows.splice(rows.indexOf(row), 1)
      row.element.remove()
    })
    rows.push(row)
    list.append(row.element)
  }
  add('id')
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const columns = rows.map((row) => row.read())
    const times = RESERVED.filter((_, i) => isChecked(keyTimes[i]))
    try {
      await register(name.value.trim(), columns, times)
      location.hash = `#/tables/${encodeURIComponent(name.value.trim())}`
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    field(t('tableName'), name),
    columnList(list, () => add()),
    h(
      'fieldset',
      {},
      h('legend', {}, t('uniqueKey')),
      h('p', { class: 'soft small' }, t('uniqueHint')),
      h('div', { class: 'row' }, keyTimes),
    ),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('create'))),
  )
}

/** @param times reserved columns of the unique key */
async function register(data_name: string, columns: readonly NewColumn[], times: string[]): Promise<void> {
  await call('loaderwebapi.register_loader', {
    data_name,
    record_def: Object.fromEntries(columns.map(({ name, ...rest }) => [name, definitionOf(rest)])),
    unique_columns: [...columns.filter(({ isKey }) => isKey).map(({ name }) => name), ...times],
  })
}

function isChecked(label: HTMLElement | undefined): boolean {
  return label?.querySelector('input')?.checked === true
}

function columnRow(n: number, suggestion: string, remove: () => void): ColumnRow {
  const name = h('input', { required: true, value: suggestion, autocomplete: 'off' })
  const type = select(COLUMN_TYPES.map((each) => [each, each] as const))
  const isNullable = checkbox(t('nullable'), { checked: suggestion === '' })
  const isKey = checkbox(t('uniqueKey'), { checked: suggestion !== '' })
  return {
    element: h(
      'div',
      { class: 'row end', role: 'group', 'aria-label': `${t('column')} ${n}` },
      field(t('column'), name),
      field(t('type'), type),
      isNullable,
      isKey,
      button('×', remove, 'small plain', { 'aria-label': t('removeColumn', { n }) }),
    ),
    read: () => ({
      name: name.value.trim(),
      type: COLUMN_TYPES[type.selectedIndex] ?? COLUMN_TYPES[0],
      isNullable: isChecked(isNullable),
      isKey: isChecked(isKey),
    }),
  }
}
