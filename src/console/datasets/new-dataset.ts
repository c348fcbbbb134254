import { columnEditor, type EditedColumn } from '../core/column-editor.js'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { field, statusLine } from '../core/parts.js'
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

/** Form that creates a dataset: name, columns, key. */
export function newDatasetForm(): HTMLElement {
  const name = h('input', { required: true, autocomplete: 'off' })
  const status = statusLine()
  const columns = columnEditor({
    keyLabel: t('keyColumn'),
    typeControl: (isKey) =>
      h('input', { required: true, value: isKey ? 'bigint' : 'text', list: 'dataset-types' }),
  })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await create(name.value.trim(), columns.read())
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
    columns.element,
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('create'))),
  )
}

async function create(dataset_name: string, columns: readonly EditedColumn[]): Promise<void> {
  await call('dataset.create', {
    dataset_name,
    columns: columns.map(({ name, type, isNullable }) => ({
      column_name: name,
      data_type: type,
      nullable: isNullable,
    })),
    key_columns: columns.filter(({ isKey }) => isKey).map(({ name }) => name),
  })
}
