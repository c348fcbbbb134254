import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { call } from '../core/rpc.js'
import type { ColumnInfo, TableInfo } from '../core/tables.js'
import { editDialog } from '../grid/edit-dialog.js'
import { shortTime } from '../grid/short-time.js'
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
  const inputs = Object.entries(record_def)
    .filter(([name]) => name !== 'location' && !unique_columns.includes(name))
    .sort(([, a], [, b]) => a.position - b.position)
    .map(([name, column]) => ({ name, column, input: inputOf(column, row.values[name]) }))
  const hasPlace = 'location' in record_def && !unique_columns.includes('location')
  const place = h('input', { value: row.geometry === null ? '' : JSON.stringify(row.geometry) })
  const save = async () => {
    const kept = unique_columns.filter((name) => name !== 'location').map((name) => [name, row.values[name]])
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
  }
  editDialog({
    key: unique_columns.map((name) => [name, keyText(row, name)] as const),
    fields: [
      ...inputs.map(({ name, column, input }) => ({ label: name, input, hint: column.data_type })),
      ...(hasPlace ? [{ label: t('geometry'), input: place, hint: t('geometryHint') }] : []),
    ],
    save,
    onSaved,
  })
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
        : udt_name.startsWith('timestamp')
          ? shortTime(String(value))
          : String(value)
  const isText = /^(text|varchar|bpchar)$/.test(udt_name)
  return h('input', { value: text, required: is_nullable === 'NO' && !isText })
}
