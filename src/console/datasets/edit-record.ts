import { h } from '../core/dom.js'
import { call } from '../core/rpc.js'
import { cellText } from '../grid/cell-text.js'
import { editDialog } from '../grid/edit-dialog.js'
import type { DatasetColumn, GridRow } from '../grid/source.js'
import { geometryOf } from '../tables/record-form.js'
import { changedValue, editText, putValue } from './record-value.js'

/** A dataset whose records can be overwritten. */
interface KeyedDataset {
  readonly name: string
  /** of `dataset.get_columns` */
  readonly columns: readonly DatasetColumn[]
  /** columns of its key, at least one */
  readonly key: readonly string[]
}

/**
 * True for a dataset whose records can be overwritten. Without a key no record takes the place of another; of
 * json values this page cannot keep every digit.
 */
export function canEditRecords({ columns, key }: Pick<KeyedDataset, 'columns' | 'key'>): boolean {
  return key.length > 0 && columns.every(({ data_type }) => !data_type.startsWith('json'))
}

/** Opens a form with the values of a record; its key stays as it is. Citations keep the record as it was. */
export function editRecord({ name, columns, key }: KeyedDataset, row: GridRow, onSaved: () => void): void {
  const stored = columns.filter(({ column_name }) => !column_name.startsWith('_'))
  const parts = stored.map((column) => {
    const value = row.values[column.column_name]
    const isKey = key.includes(column.column_name)
    return { column, value, input: isKey ? undefined : inputOf(column, value) }
  })
  const save = async () => {
    const record = parts.map(({ column, value, input }) => {
      if (input === undefined || input.value === editText(value)) return putValue(value)
      if (column.data_type.startsWith('geometry')) return geometryOf(input.value)
      return changedValue(column, input.value)
    })
    await call('dataset.record.put', { dataset_name: name, records: [record], on_conflict: 'update' })
  }
  editDialog({
    key: key.map((column) => [column, cellText(row.values[column])] as const),
    fields: parts.flatMap(({ column, input }) =>
      input === undefined ? [] : [{ label: column.column_name, input, hint: column.data_type }],
    ),
    save,
    onSaved,
  })
}

function inputOf({ nullable, data_type }: DatasetColumn, value: unknown): HTMLInputElement {
  const isText = /^(text|character)/.test(data_type)
  return h('input', { value: editText(value), required: !nullable && !isText })
}
