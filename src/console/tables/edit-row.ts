import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, facts, field, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { ColumnInfo, TableInfo } from '../core/tables.js'
import type { GridRow } from '../grid/source.js'
import { geometryOf, typedValue } from './record-form.js'

/** True for a table whose rows can be overwritten: values of files and bytes are not shown, and would be lost. */
export function canEdit({ record_def }: TableInfo): boolean {
  return Object.values(record_def).every(({ udt_name }) => !/^(file|raster|bytea)$/.test(udt_name))
}

/** Opens a form with the values of a row; its key stays as it is. */
export function editRow(
  { data_name, record_def, unique_columns }: TableInfo,
  row: GridRow,
  onSaved: () => void,
): void {
  const names = Object.entries(record_def)
    .filter(([name]) => name !== 'location')
    .sort(([, a], [, b]) => a.position - b.position)
  const free = names.filter(([name]) => !unique_columns.includes(name))
  const inputs = free.map(([name, column]) => ({ name, column, input: inputOf(column, row.values[name]) }))
  const hasPlace = 'location' in record_def && !unique_columns.includes('location')
  const place = h('input', { value: row.geometry === null ? '' : JSON.stringify(row.geometry) })
  const status = statusLine()
  const dialog = h('dialog', { 'aria-label': t('edit'), onclose: () => dialog.remove() })
  const save = async (event: Event) => {
    event.preventDefault()
    try {
      const kept = unique_columns
        .filter((name) => name !== 'location')
        .map((name) => [name, row.values[name]])
      const changed = inputs.map(({ name, column, input }) => [
        name,
        input.value === '' && column.is_nullable === 'YES' ? null : typedValue(column, input.value),
      ])
      const geometry = hasPlace ? geometryOf(place.value) : row.geometry
      const record = { type: 'Feature', geometry, properties: Object.fromEntries([...kept, ...changed]) }
      await call('loaderwebapi.add_record', {
        data_name,
        record_set: [record],
        options: { if_exists: 'override' },
      })
      dialog.close()
      onSaved()
    } catch (error) {
      status.bad(error)
    }
  }
  fill(
    dialog,
    h(
      'form',
      { class: 'stack', onsubmit: save },
      h('h2', {}, t('edit')),
      facts(unique_columns.map((name) => [name, keyText(row, name)] as const)),
      h(
        'div',
        { class: 'grid' },
        inputs.map(({ name, column, input }) => field(name, input, column.data_type)),
        hasPlace && field(t('geometry'), place, t('geometryHint')),
      ),
      status.element,
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'button main' }, t('save')),
        button(t('cancel'), () => dialog.close()),
      ),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
}

function keyText({ values, geometry }: GridRow, name: string): string {
  return name === 'location' ? JSON.stringify(geometry) : String(values[name] ?? '')
}

function inputOf({ is_nullable, udt_name }: ColumnInfo, value: unknown): HTMLInputElement {
  const text =
    value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  const isText = /^(text|varchar|bpchar)$/.test(udt_name)
  return h('input', { value: text, required: is_nullable === 'NO' && !isText })
}
