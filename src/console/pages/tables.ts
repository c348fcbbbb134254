import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { button, confirmed, empty, field, loaded, notFound, statusLine, table, tabs } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { readTables, type TableInfo } from '../core/tables.js'
import { grid } from '../grid/grid.js'
import { tableSource } from '../grid/source.js'
import { importer } from '../import/importer.js'
import { takeNews } from '../import/state.js'
import { canEdit, editRow } from '../tables/edit-row.js'
import { keepForm } from '../tables/keep.js'
import { newTableForm } from '../tables/new-table.js'
import { recordForm } from '../tables/record-form.js'

/** All tables, or the one that the address names. */
export function tablesPage([name]: readonly string[]): Page {
  const element = h('div', { class: 'stack' })
  if (name === undefined) {
    element.append(
      h('h1', {}, t('navTables')),
      h('p', { class: 'soft' }, t('tablesIntro')),
      h('p', {}, h('a', { class: 'button main', href: '#/import' }, t('navImport'))),
      loaded(listOfTables),
      h('details', { class: 'card' }, h('summary', {}, t('newTable')), newTableForm()),
    )
    return { title: t('navTables'), element }
  }
  element.append(
    h('p', {}, h('a', { href: '#/tables' }, `← ${t('navTables')}`)),
    h('h1', {}, name),
    loaded(async () => {
      const found = (await readTables()).find((each) => each.data_name === name)
      return found === undefined
        ? notFound(t('notFoundTable', { name }), '#/import', t('navImport'))
        : oneTable(found)
    }),
  )
  return { title: name, element }
}

/** Tables from which on a list has a search. */
const MANY = 12

async function listOfTables(): Promise<HTMLElement[]> {
  const tables = await readTables()
  if (tables.length < MANY) return [tableList(tables)]
  const input = h('input', { type: 'search', autocomplete: 'off' })
  const box = h('div')
  const show = () => {
    const text = input.value.trim().toLowerCase()
    const found = tables.filter(({ data_name }) => data_name.toLowerCase().includes(text))
    fill(box, found.length === 0 ? empty(t('noneMatch')) : tableList(found))
  }
  input.addEventListener('input', show)
  show()
  return [h('div', { class: 'search-list' }, field(t('filterTables'), input)), box]
}

function tableList(tables: readonly TableInfo[]): HTMLElement {
  return table(
    t('navTables'),
    [t('name'), t('columns'), t('uniqueKey')],
    tables.map(({ data_name, record_def, unique_columns }) => [
      h('a', { href: `#/tables/${encodeURIComponent(data_name)}` }, data_name),
      String(Object.keys(record_def).length),
      unique_columns.join(', '),
    ]),
    t('tablesNone'),
  )
}

function oneTable(info: TableInfo): HTMLElement[] {
  const { data_name } = info
  const status = statusLine()
  const news = takeNews(data_name)
  if (news !== undefined) status.good(news)
  const drop = async () => {
    if (!(await confirmed(t('dropTableSure', { name: data_name }), t('dropTable')))) return
    try {
      await call('loaderwebapi.drop_loader', { data_name })
      location.hash = '#/tables'
    } catch (error) {
      status.bad(error)
    }
  }
  return [
    h(
      'div',
      { class: 'row' },
      h('a', { class: 'button', href: `#/map/${encodeURIComponent(data_name)}` }, t('openOnMap')),
      button(t('dropTable'), drop, 'bad'),
    ),
    citeForm(data_name),
    status.element,
    tabs([
      { label: t('tabRows'), show: () => rowsOf(info) },
      { label: t('tabColumns'), show: () => columnsOf(info) },
      { label: t('tabAdd'), show: () => recordForm(info) },
      { label: t('tabImport'), show: () => importer(info).element },
      { label: t('tabKeep'), show: () => keepForm(info) },
    ]),
  ]
}

function rowsOf(info: TableInfo): HTMLElement {
  const source = tableSource(info, canEdit(info) ? (row, onSaved) => editRow(info, row, onSaved) : undefined)
  return grid(source, { sort: '-start_datetime', follows: info.data_name })
}

function columnsOf({ record_def, unique_columns }: TableInfo): HTMLElement {
  const columns = Object.entries(record_def).sort(([, a], [, b]) => a.position - b.position)
  return table(
    t('columns'),
    [t('column'), t('type'), t('nullable'), t('defaultValue'), t('uniqueKey')],
    columns.map(([name, { data_type, udt_name, is_nullable, column_default }]) => [
      name,
      data_type === 'USER-DEFINED' ? udt_name : data_type,
      is_nullable === 'YES' ? t('yes') : t('no'),
      column_default ?? '',
      unique_columns.includes(name) ? t('yes') : '',
    ]),
  )
}

/** Keeps the state that a table or dataset has now. */
export function citeForm(source: string): HTMLElement {
  const label = h('input', { name: 'label', required: true })
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      const params = { citation_label: label.value.trim(), source }
      const { long_form } = await call<{ long_form: string }>('dataset.citation.create', params)
      status.good(t('cited', { name: long_form }))
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'details',
    {},
    h('summary', {}, t('cite')),
    h(
      'form',
      { class: 'stack tight', onsubmit },
      h(
        'div',
        { class: 'row end' },
        field(t('citeLabel'), label),
        h('button', { class: 'button main' }, t('cite')),
      ),
      status.element,
    ),
  )
}
