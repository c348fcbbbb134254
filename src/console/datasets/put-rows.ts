import { h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'

/**
 * Form that puts rows given as JSON, for tests and small corrections; `fieldgate cite import` imports files.
 */
export function putRowsForm(dataset: string): HTMLElement {
  const rows = h('textarea', { required: true, placeholder: '[[1, "2.40", "POINT(139.7 35.6)"]]' })
  const conflict = select([
    ['error', t('putStop')],
    ['update', t('ifOverride')],
    ['nothing', t('ifSkip')],
  ])
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    let records: unknown
    try {
      records = JSON.parse(rows.value)
    } catch (error) {
      return status.bad(t('badJson', { reason: error instanceof Error ? error.message : '' }))
    }
    try {
      const params = { dataset_name: dataset, records, on_conflict: conflict.value }
      status.good(t('putDone', { n: formatNumber(await call<number>('dataset.record.put', params)) }))
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    field(t('putRows'), rows, t('putHint')),
    field(t('putConflict'), conflict),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('save'))),
  )
}
