import { h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import { field, loaded, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { TableInfo } from '../core/tables.js'

/** Rule by which rows of a table go, and what has gone. */
interface Retention {
  data_name: string
  age_days: number | null
  max_rows: number | null
  max_bytes: number | null
  thin: Thin | null
  drop_unsent: boolean
  rows: number | null
  bytes: number | null
  oldest: string | null
  removed_rows: number
  waiting_rows: number
  waits_for: { feed: string; to: string } | null
  fault: string | null
}

interface Thin {
  after_days: number
  interval_s: number
  by: string[]
  keep?: 'first' | 'last'
  into?: string
}

const MEGABYTE = 1_000_000

/** Form of the rule by which rows of a table go. */
export function keepForm({ data_name, unique_columns }: TableInfo): HTMLElement {
  return loaded(async () => {
    const all = await call<Retention[]>('loaderwebapi.list_retention', {})
    return formOf(
      data_name,
      all.find((one) => one.data_name === data_name),
      unique_columns.filter((name) => !name.endsWith('_datetime')),
    )
  })
}

function formOf(name: string, rule: Retention | undefined, series: readonly string[]): HTMLElement {
  const number = (value: number | null | undefined, min: string) =>
    h('input', { type: 'number', min, step: 'any', value: value == null ? '' : String(value) })
  const days = number(rule?.age_days, '0')
  const rows = number(rule?.max_rows, '1')
  const megabytes = number(rule?.max_bytes == null ? null : rule.max_bytes / MEGABYTE, '0')
  const unsent = h('input', { type: 'checkbox' })
  unsent.checked = rule?.drop_unsent ?? false
  const thin = thinFields(rule?.thin ?? null, series)
  const status = statusLine()
  const state = h('p', { class: 'soft' }, stateText(rule))
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const read = ({ value }: HTMLInputElement, unit = 1) => (value === '' ? null : Number(value) * unit)
    try {
      const maxBytes = read(megabytes, MEGABYTE)
      const now = await call<Retention>('loaderwebapi.set_retention', {
        ...{ data_name: name, age_days: read(days), max_rows: read(rows), drop_unsent: unsent.checked },
        ...{ max_bytes: maxBytes === null ? null : Math.round(maxBytes), thin: thin.read() },
      })
      state.textContent = stateText(now)
      status.good(t('keepSaved'))
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'card stack', onsubmit },
    h('p', { class: 'soft' }, t('keepIntro')),
    state,
    h(
      'div',
      { class: 'grid' },
      field(t('keepDays'), days),
      field(t('keepRows'), rows),
      field(t('keepMegabytes'), megabytes),
    ),
    h('div', { class: 'grid' }, thin.parts),
    h('label', { class: 'check' }, unsent, t('keepUnsent')),
    h('div', { class: 'row' }, h('button', { class: 'button main' }, t('keepSave')), status.element),
  )
}

/** Fields of thinning; those of other kinds are hidden. */
function thinFields(rule: Thin | null, series: readonly string[]) {
  const kind = select([
    ['', t('thinNot')],
    ['first', t('thinFirst')],
    ['last', t('thinLast')],
    ['into', t('thinInto')],
  ])
  kind.value = rule === null ? '' : (rule.keep ?? 'into')
  const number = (value: number) =>
    h('input', { type: 'number', min: '0', step: 'any', value: String(value) })
  const after = number(rule?.after_days ?? 7)
  const minutes = number((rule?.interval_s ?? 600) / 60)
  const by = h('input', { value: (rule?.by ?? series).join(', ') })
  const into = h('input', { maxlength: 63, value: rule?.into ?? '' })
  const details = [
    field(t('thinAfterDays'), after),
    field(t('thinMinutes'), minutes),
    field(t('thinBy'), by, t('thinByHint')),
  ]
  const target = field(t('thinTable'), into)
  const showParts = () => {
    for (const part of details) part.hidden = kind.value === ''
    target.hidden = kind.value !== 'into'
  }
  kind.addEventListener('change', showParts)
  showParts()
  const read = () => {
    if (kind.value === '') return null
    const names = by.value.split(',').map((name) => name.trim())
    const parts = {
      after_days: Number(after.value),
      interval_s: Math.round(Number(minutes.value) * 60),
      by: names.filter((name) => name !== ''),
    }
    return kind.value === 'into' ? { ...parts, into: into.value.trim() } : { ...parts, keep: kind.value }
  }
  return { parts: [field(t('thinField'), kind), ...details, target], read }
}

function stateText(rule: Retention | undefined): string {
  if (rule === undefined || rule.rows === null) return ''
  const { rows, bytes, removed_rows: gone, oldest, waiting_rows: waiting, waits_for: to, fault } = rule
  const size = ((bytes ?? 0) / MEGABYTE).toFixed(1)
  return [
    t('keepState', { rows, size, gone }),
    ...(oldest === null ? [] : [t('keepOldest', { time: formatTime(oldest) })]),
    ...(waiting === 0 || to === null ? [] : [t('keepWaiting', { rows: waiting, to: to.to })]),
    ...(fault === null ? [] : [t('keepFault', { fault })]),
  ].join(' ')
}
