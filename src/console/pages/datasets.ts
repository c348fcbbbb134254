import { h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { badge, button, confirmed, loaded, statusLine, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { citationPage } from '../datasets/citation.js'
import { compareForm } from '../datasets/compare.js'
import { canEditRecords, editRecord } from '../datasets/edit-record.js'
import { newDatasetForm } from '../datasets/new-dataset.js'
import { putRowsForm } from '../datasets/put-rows.js'
import {
  type CitationInfo,
  type DatasetInfo,
  readCitations,
  readColumns,
  readDatasets,
  readKey,
} from '../datasets/read.js'
import { grid } from '../grid/grid.js'
import { type GridSource, labelSource } from '../grid/source.js'
import { citeForm } from './tables.js'

/** Datasets and citations; `#/datasets/citation/NAME` is the landing page of one citation. */
export function datasetsPage([kind, name]: readonly string[]): Page {
  if (kind === 'citation' && name !== undefined) return citationPage(name)
  if (kind === 'set' && name !== undefined) return datasetPage(name)
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navDatasets')),
    h('p', { class: 'soft' }, t('datasetsIntro')),
    loaded(async () => {
      const [datasets, citations] = await Promise.all([readDatasets(), readCitations()])
      return [
        h('h2', {}, t('datasetsTitle')),
        datasetTable(datasets),
        h('details', { class: 'card' }, h('summary', {}, t('newDataset')), newDatasetForm()),
        h('h2', {}, t('citationsTitle')),
        citationTable(citations),
        h('details', { class: 'card' }, h('summary', {}, t('compare')), compareForm(citations)),
      ]
    }),
  )
  return { title: t('navDatasets'), element }
}

function datasetTable(datasets: readonly DatasetInfo[]): HTMLElement {
  return table(
    t('datasetsTitle'),
    [t('name'), t('created'), t('longForm')],
    datasets.map(({ short_form, long_form, created_at }) => [
      h('a', { href: `#/datasets/set/${encodeURIComponent(short_form)}` }, short_form),
      formatTime(created_at),
      long_form,
    ]),
    t('datasetsNone'),
  )
}

function citationTable(citations: readonly CitationInfo[]): HTMLElement {
  return table(
    t('citationsTitle'),
    [t('citation'), t('created'), t('checksum')],
    citations.map(({ long_form, created_at, checksum, checksum_state }) => [
      h('a', { href: `#/datasets/citation/${encodeURIComponent(long_form)}` }, long_form),
      formatTime(created_at),
      checksum === null || checksum_state === 'pending'
        ? badge(t('checksumPending'), 'warn')
        : `${checksum.slice(0, 16)}…`,
    ]),
    t('citationsNone'),
  )
}

function datasetPage(name: string): Page {
  const status = statusLine()
  const remove = async () => {
    if (!(await confirmed(t('deleteDatasetSure', { name }), t('remove')))) return
    try {
      await call('dataset.delete', { dataset_name: name })
      location.hash = '#/datasets'
    } catch (error) {
      status.bad(error)
    }
  }
  const contents = async () => {
    const [found, key] = await Promise.all([readColumns(name), readKey(name)])
    const dataset = { name, columns: found, key }
    const edit: GridSource['edit'] = canEditRecords(dataset)
      ? (row, onSaved) => editRecord(dataset, row, onSaved)
      : undefined
    const columns = table(
      t('columns'),
      [t('column'), t('type'), t('nullable')],
      found.map(({ column_name, data_type, nullable }) => [
        column_name,
        data_type,
        nullable ? t('yes') : t('no'),
      ]),
    )
    return [
      h('h2', {}, t('tabRows')),
      grid(labelSource(name, found, { isDataset: true, edit })),
      h('details', { class: 'card' }, h('summary', {}, t('columns')), columns),
    ]
  }
  const element = h(
    'div',
    { class: 'stack' },
    h('p', {}, h('a', { href: '#/datasets' }, `← ${t('navDatasets')}`)),
    h('h1', {}, name),
    citeForm(name),
    loaded(contents),
    h('details', { class: 'card' }, h('summary', {}, t('putRows')), putRowsForm(name)),
    status.element,
    h('div', {}, button(t('dropDataset'), remove, 'bad')),
  )
  return { title: name, element }
}
