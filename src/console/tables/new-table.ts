import { columnEditor, type EditedColumn } from '../core/column-editor.js'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { checkbox, field, isChecked, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { COLUMN_TYPES, definitionOf } from './column-types.js'

/** Columns that every table has by itself. */
const RESERVED = ['start_datetime', 'end_datetime']

/** Form that creates a table: name, columns, unique key. */
export function newTableForm(): HTMLElement {
  const name = h('input', { name: 'data_name', required: true, autocomplete: 'off' })
  const status = statusLine()
  const keyTimes = RESERVED.map((column) => checkbox(column, { name: 'key-time', value: column }))
  const columns = columnEditor({
    keyLabel: t('uniqueKey'),
    typeControl: () => select(COLUMN_TYPES.map((each) => [each, each] as const)),
  })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const times = RESERVED.filter((_, i) => isChecked(keyTimes[i]))
    try {
      await register(name.value.trim(), columns.read(), times)
      location.hash = `#/tables/${encodeURIComponent(name.value.trim())}`
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    field(t('tableName'), name),
    columns.element,
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
async function register(data_name: string, columns: readonly EditedColumn[], times: string[]): Promise<void> {
  await call('loaderwebapi.register_loader', {
    data_name,
    record_def: Object.fromEntries(
      columns.map(({ name, type, isNullable }) => [name, definitionOf(type, isNullable)]),
    ),
    unique_columns: [...columns.filter(({ isKey }) => isKey).map(({ name }) => name), ...times],
  })
}
