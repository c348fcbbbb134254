import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, checkbox, columnList, field, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'

const TYPES = [
  'bigint',
  'int',
  'double precision',
  'numeric(12,3)',
  'text',
  'varchar(200)',
  'boolean',
  'timestamp with time zone',
  'date',
  'json',
  'geometry(Point,4326)',
  'geometry',
]

interface ColumnRow {
  element: HTMLElement
  read(): { column_name: string; data_type: string; nullable: boolean; isKey: boolean }
}

/** Form that creates a dataset: name, columns, key. */
export function newDatasetForm(): HTMLElement {
  const name = h('input', { required: true, autocomplete: 'off' })
  const list = h('div', { class: 'stack tight' })
  const status = statusLine()
  const rows: ColumnRow[] = []
  const add = (suggestion = '', isKey = false) => {
    const row = columnRow(rows.length + 1, suggestion, isKey, () => {
      rows.splice(rows.indexOf(row), 1)
      row.element.remove()
    })
    rows.push(row)
    list.append(row.element)
  }
  add('id', true)
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const columns = rows.map((row) => row.read())
    try {
      await call('dataset.create', {
        dataset_name: name.value.trim(),
        columns: columns.map(({ isKey: _, ...column }) => column),
        key_columns: columns.filter(({ isKey }) => isKey).map(({ column_name }) => column_name),
      })
      location.hash = `#/datasets/set/${encodeURIComponent(name.value.trim())}`
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    h(
      'datalist',
      { id: 'dataset-types' },
      TYPES.map((type) => h('option', { value: type })),
    ),
    field(t('name'), name),
    columnList(list, () => add()),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('create'))),
  )
}

/** Inputs of one column. @param isKey begins as a column of the key */
function columnRow(n: number, suggestion: string, isKey: boolean, remove: () => void): ColumnRow {
  const column = h('input', { required: true, value: suggestion, autocomplete: 'off' })
  const type = h('input', { required: true, value: isKey ? 'bigint' : 'text', list: 'dataset-types' })
  const nullable = checkbox(t('nullable'), { checked: !isKey })
  const key = checkbox(t('keyColumn'), { checked: isKey })
  const isOn = (label: HTMLElement) => label.querySelector('input')?.checked === true
  return {
    element: h(
      'div',
      { class: 'row end', role: 'group', 'aria-label': `${t('column')} ${n}` },
      field(t('column'), column),
      field(t('type'), type),
      nullable,
      key,
      button('×', remove, 'small plain', { 'aria-label': t('removeColumn', { n }) }),
    ),
    read: () => ({
      column_name: column.value.trim(),
      data_type: type.value.trim(),
      nullable: isOn(nullable),
      isKey: isOn(key),
    }),
  }
}
