import type { KeyCount } from '../../tabular/key-counter.js'
import { tableNameOf } from '../../tabular/names.js'
import { fill, h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { formatNumber, sentences, t } from '../core/i18n.js'
import { button, field, select, type statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { TableInfo } from '../core/tables.js'
import { type Draft, keyOf, planOf } from './draft.js'
import { sharedText } from './key-form.js'
import type { LookedAt } from './look.js'
import { type Sent, sendFile } from './send.js'
import { leaveNews } from './state.js'

interface SendParts {
  readonly looked: LookedAt
  readonly table: TableInfo | undefined
  readonly draft: Draft
  readonly status: ReturnType<typeof statusLine>
}

/** Name of the table, what happens to records of one key, and the button that makes, imports and shows. */
export function sendForm({ looked, table, draft, status }: SendParts) {
  const inputs = inputsOf(looked, table)
  const bar = h('div', { class: 'stack tight', role: 'status' })
  let count: KeyCount | undefined
  let stop = new AbortController()
  const run = async () => {
    if (count === undefined) return status.bad(t('importNoKey'))
    const { ifExists, timeIso, dataName } = inputs.read()
    if (count.shared > 0 && (ifExists === '' || ifExists === 'error'))
      return status.bad(sentences(sharedText(count, looked.file.places), t('importSharedAdvice')))
    stop = new AbortController()
    status.say('')
    try {
      if (table === undefined) await register(dataName, looked, draft)
    } catch (error) {
      return status.bad(error)
    }
    const sent = await sendFile(looked.file, {
      plan: planOf(draft, looked.survey.columns),
      ...{ dataName, ifExists: ifExists || 'skip', signal: stop.signal, timeIso },
      onProgress: progressIn(bar, looked.survey.rowCount, () => stop.abort()),
    })
    fill(bar)
    const text = count.shared === 0 ? sent.text : sentences(sent.text, sharedText(count, looked.file.places))
    await finish(sent, {
      table,
      dataName,
      text: sent.isDone ? text : sent.text,
      isWarning: count.shared > 0,
      status,
    })
  }
  const submit = h('button', { class: 'button main' }, t(table === undefined ? 'importMake' : 'importStart'))
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    submit.disabled = true
    await run()
    submit.disabled = false
  }
  const hint = h('p', { class: 'soft small' }, t('importHint'))
  return {
    element: h('form', { class: 'card', onsubmit }, inputs.element, hint, bar, h('div', {}, submit)),
    setKeyCount(next: KeyCount | undefined) {
      count = next
      inputs.showShared(next !== undefined && next.shared > 0)
    },
    close: () => stop.abort(),
  }
}

/** Fields of an import. A new table is asked about shared keys only where there are some. */
function inputsOf(looked: LookedAt, table: TableInfo | undefined) {
  const name = h('input', {
    ...{ name: 'data_name', required: table === undefined, autocomplete: 'off' },
    value: tableNameOf(looked.name),
  })
  const ifExists = select([
    ['', t(table === undefined ? 'ifSharedRefuse' : 'ifSkipStored')],
    ['skip', t('ifSkipAll')],
    ['override', t('ifOverride')],
    ...(table === undefined ? [] : [['error', t('ifError')] as const]),
  ])
  const time = h('input', { type: 'datetime-local', step: 1 })
  const ifExistsField = field(t(table === undefined ? 'ifShared' : 'ifExists'), ifExists)
  return {
    element: h(
      'div',
      { class: 'grid' },
      table === undefined && field(t('tableName'), name),
      ifExistsField,
      field(t('importDefaultTime'), time, t('importDefaultTimeHint')),
    ),
    read: () => ({
      dataName: table?.data_name ?? name.value.trim(),
      ifExists: ifExists.value,
      timeIso: time.value === '' ? null : new Date(time.value).toISOString(),
    }),
    showShared(isShared: boolean) {
      ifExistsField.hidden = table === undefined && !isShared
    },
  }
}

interface Finish extends Pick<SendParts, 'table' | 'status'> {
  readonly dataName: string
  readonly text: string
  readonly isWarning: boolean
}

/** Shows how an import ended; a new table of which nothing is stored is removed again. */
async function finish(sent: Sent, { table, dataName, text, isWarning, status }: Finish): Promise<void> {
  const isNew = table === undefined
  if (!sent.isDone && isNew && sent.done === 0) {
    try {
      await call('loaderwebapi.drop_loader', { data_name: dataName })
      status.bad(sentences(text, t('importTableGone')))
    } catch (error) {
      status.bad(sentences(text, faultText(error)))
    }
  } else if (!sent.isDone) status.bad(text)
  else if (isNew) {
    leaveNews(dataName, text)
    location.hash = `#/tables/${encodeURIComponent(dataName)}`
  } else status.say(text, isWarning ? 'warn' : 'good')
}

async function register(data_name: string, { survey }: LookedAt, draft: Draft): Promise<void> {
  const unique_columns = keyOf(draft, survey.columns)
  const { columns } = planOf(draft, survey.columns)
  await call('loaderwebapi.register_loader', {
    data_name,
    record_def: Object.fromEntries(
      columns.map(({ name, kind }) => [
        name,
        { udt_name: kind, is_nullable: !unique_columns.includes(name) },
      ]),
    ),
    unique_columns,
  })
}

/** Shows a progress bar with a button that stops. @returns function that moves it */
function progressIn(box: HTMLElement, count: number, cancel: () => void): (done: number) => void {
  const bar = h('progress', { max: Math.max(1, count), value: 0, 'aria-label': t('importStart') })
  const label = h('p', { class: 'small' })
  fill(box, bar, label, h('div', {}, button(t('cancel'), cancel, 'small')))
  return (done) => {
    bar.value = done
    label.textContent = t('importProgress', { n: formatNumber(done), m: formatNumber(count) })
  }
}
