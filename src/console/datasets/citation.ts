import { h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { button, confirmed, copyButton, facts, loaded, notFound, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { grid } from '../grid/grid.js'
import { labelSource } from '../grid/source.js'
import { type CitationInfo, readCitations, readColumns } from './read.js'

/** Landing page of a citation: its facts, how to cite and read it, and its rows. */
export function citationPage(name: string): Page {
  const element = h(
    'div',
    { class: 'stack' },
    h('p', {}, h('a', { href: '#/datasets' }, `← ${t('navDatasets')}`)),
    h('h1', {}, t('landing', { name })),
    loaded(async () => {
      const found = (await readCitations()).find(({ long_form }) => long_form === name)
      return found === undefined
        ? notFound(t('notFoundCitation', { name }), '#/datasets', t('navDatasets'))
        : landing(found)
    }),
  )
  return { title: t('landing', { name }), element }
}

function landing(info: CitationInfo): HTMLElement[] {
  const { long_form, short_form, created_at, transaction_time, dataset_name, checksum, checksum_state } = info
  const text = `${short_form} (${created_at.val.slice(0, 10)}). ${long_form}. Fieldgate, ${location.origin}. SHA-256 ${checksum ?? '…'}`
  const reading = `curl -s ${location.origin}/api/v2/dataset/jsonrpc/call/dataset.record.get \\\n  -H "APIKey: $K" -H "Secret: $S" -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ citation_label: long_form })}'\nfieldgate cite verify ${long_form}\nfieldgate cite export ${long_form} -o ${short_form}.gpkg`
  return [
    h(
      'div',
      { class: 'card' },
      facts([
        [t('citation'), long_form],
        [t('created'), formatTime(created_at)],
        ...(transaction_time === undefined
          ? []
          : [[t('transactionTime'), formatTime(transaction_time)] as const]),
        [t('source'), dataset_name],
        [
          `${t('checksum')} (SHA-256)`,
          checksum_state === 'pending' ? t('checksumPending') : h('span', { class: 'mono' }, checksum ?? ''),
        ],
      ]),
    ),
    h('h2', {}, t('howToCite')),
    h('pre', {}, text),
    h(
      'div',
      {},
      copyButton(() => text),
    ),
    h('h2', {}, t('howToRead')),
    h('pre', {}, reading),
    h('h2', {}, t('tabRows')),
    rowsOf(long_form),
    removal(long_form),
  ]
}

function rowsOf(name: string): HTMLElement {
  return loaded(async () => grid(labelSource(name, await readColumns(name), { isDataset: false })))
}

function removal(name: string): HTMLElement {
  const status = statusLine()
  const remove = async () => {
    if (!(await confirmed(t('deleteCitationSure', { name }), t('remove')))) return
    try {
      await call('dataset.citation.delete', { citation_label: name })
      location.hash = '#/datasets'
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'div',
    { class: 'stack tight' },
    h('div', { class: 'row' }, button(t('remove'), remove, 'bad')),
    status.element,
  )
}
