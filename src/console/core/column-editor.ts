import { h } from './dom.js'
import { t } from './i18n.js'
import { button, checkbox, field, isChecked } from './parts.js'

/** A column as the user has filled it in. */
export interface EditedColumn {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
  readonly isKey: boolean
}

interface EditorParts {
  /** Label of the box that makes a column part of the key. */
  readonly keyLabel: string
  /** Returns the control of a column's type. @param isKey true for the first column, which begins as the key */
  typeControl(isKey: boolean): HTMLInputElement | HTMLSelectElement
}

/** Columns of a new table or dataset, which the user adds and removes. The first is `id`, the key. */
export function columnEditor(parts: EditorParts): { element: HTMLElement; read(): EditedColumn[] } {
  const list = h('div', { class: 'stack tight' })
  const rows = new Set<ColumnRow>()
  let added = 0
  const add = () => {
    added++
    const row = columnRow(added, parts, () => {
      rows.delete(row)
      row.element.remove()
    })
    rows.add(row)
    list.append(row.element)
  }
  add()
  return {
    element: h(
      'fieldset',
      {},
      h('legend', {}, t('columns')),
      list,
      h('div', {}, button(t('addColumn'), add, 'small')),
    ),
    read: () => [...rows].map((row) => row.read()),
  }
}

interface ColumnRow {
  readonly element: HTMLElement
  read(): EditedColumn
}

/** Inputs of column `n`, counted from 1. */
function columnRow(n: number, { keyLabel, typeControl }: EditorParts, remove: () => void): ColumnRow {
  const isFirst = n === 1
  const name = h('input', { required: true, value: isFirst ? 'id' : '', autocomplete: 'off' })
  const type = typeControl(isFirst)
  const nullable = checkbox(t('nullable'), { checked: !isFirst })
  const key = checkbox(keyLabel, { checked: isFirst })
  return {
    element: h(
      'div',
      { class: 'row end', role: 'group', 'aria-label': `${t('column')} ${n}` },
      field(t('column'), name),
      field(t('type'), type),
      nullable,
      key,
      button('×', remove, 'plain', { 'aria-label': t('removeColumn', { n }) }),
    ),
    read: () => ({
      name: name.value.trim(),
      type: type.value.trim(),
      isNullable: isChecked(nullable),
      isKey: isChecked(key),
    }),
  }
}
