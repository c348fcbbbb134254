import type { FileRow } from '../../tabular/row-file.js'
import type { RecordSurvey } from '../../tabular/survey.js'
import { fill, h } from '../core/dom.js'
import { formatBytes, formatNumber, t } from '../core/i18n.js'
import { facts, statusLine } from '../core/parts.js'
import type { TableInfo } from '../core/tables.js'
import { columnFields } from './columns-form.js'
import { draftOf, keyOf, planOf } from './draft.js'
import { keyFields } from './key-form.js'
import { type LookedAt, lookAgain } from './look.js'
import { fileNotes } from './notes.js'
import { previewTable } from './preview.js'
import { sendForm } from './send-form.js'
import { smallMap } from './small-map.js'

interface PlanParts {
  /** table that the file is imported into; undefined for a new one */
  readonly table: TableInfo | undefined
  /** fields of choices about the file */
  readonly parts: readonly HTMLElement[]
  /** files that were dropped beside this one */
  readonly others: number
  /** of the file, bytes */
  readonly size: number
}

/** Time without a change after which the file is read again, ms. */
const SETTLE_MS = 250

/** Form of an import: what the file holds, as which columns, with which key; and the button that sends it. */
export function planForm(looked: LookedAt, { table, parts, others, size }: PlanParts) {
  const { survey, file, name } = looked
  const draft = draftOf(looked.plan, looked.key?.columns ?? [])
  for (const source of unknownColumns(looked, table)) draft.left.add(source)
  const map = smallMap()
  const [preview, notes] = [h('div', { class: 'stack' }), h('div', { class: 'stack tight' })]
  const status = statusLine()
  const key = keyFields(draft, survey.columns, file.places, table !== undefined, () => soon())
  const send = sendForm({ looked, table, draft, status })
  const columns = columnFields(draft, survey, table?.record_def, () => {
    key.show()
    soon()
  })
  let stop = new AbortController()
  let timer: number | undefined
  const showRecords = (records: RecordSurvey) => {
    const [count] = records.keys
    key.showCount(count)
    send.setKeyCount(count)
    fill(notes, fileNotes(looked, records, others))
    map.show(records)
  }
  const showRows = () =>
    fill(preview, previewTable(planOf(draft, survey.columns), survey.sample as FileRow[]))
  const read = async () => {
    stop.abort()
    stop = new AbortController()
    const { signal } = stop
    const wanted = keyOf(draft, survey.columns)
    showRows()
    key.showBusy()
    send.setKeyCount(undefined)
    try {
      const plan = planOf(draft, survey.columns)
      const records = await lookAgain(file, plan, wanted, { signal, onShare: () => undefined })
      if (!signal.aborted) showRecords(records)
    } catch (error) {
      if (!signal.aborted) status.bad(error)
    }
  }
  const soon = () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => void read(), SETTLE_MS)
  }
  showRows()
  showRecords({ ...looked.records, keys: looked.key === undefined ? [] : [looked.key] })
  const head = h(
    'div',
    { class: 'card' },
    h('h2', {}, name),
    fileFacts(looked, size),
    parts.length > 0 && h('div', { class: 'grid' }, parts),
    notes,
  )
  const shown = h('div', { class: 'preview' }, preview, map.element)
  const title = h('h2', {}, t('importPreview'))
  const rest = [title, shown, send.element, status.element]
  const element = h('div', { class: 'stack' }, head, columns.element, key.element, rest)
  return {
    element,
    close() {
      stop.abort()
      clearTimeout(timer)
      send.close()
      map.close()
    },
  }
}

function fileFacts({ survey, file }: LookedAt, size: number): HTMLElement {
  return facts([
    [t('size'), formatBytes(size)],
    [t('importRecords'), formatNumber(survey.rowCount)],
    ...(file.entry === undefined ? [] : [[t('importEntry'), file.entry] as const]),
    ...(file.layer === undefined ? [] : [[t('importLayer'), file.layer] as const]),
  ])
}

/** Columns that an existing table does not have: they are left out unless the user wants them. */
function unknownColumns({ plan }: LookedAt, table: TableInfo | undefined): string[] {
  if (table === undefined) return []
  return plan.columns.filter(({ name }) => !Object.hasOwn(table.record_def, name)).map(({ source }) => source)
}
