import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { button, faultText, field, select, statusLine } from '../core/parts.js'
import { isFault, readAnswer, request, rpcFault } from '../core/rpc.js'
import type { TableInfo } from '../core/tables.js'
import { placeOfFault, recordOf } from './import-record.js'
import { type Feature, type FileFeatures, readFeatures } from './read-file.js'
import type { Counters } from './record-form.js'
import { findSharedKeys, type SharedKeys } from './shared-keys.js'

/**
 * Records of one request: small enough that the progress bar moves, large enough that round trips do not
 * matter.
 */
const PART_RECORDS = 2000

/** Form that imports a file into a table, in parts. */
export function importForm(table: TableInfo): HTMLElement {
  const file = h('input', {
    type: 'file',
    required: true,
    accept: '.geojson,.json,.ndjson,.jsonl,.geojsonl,.csv,application/geo+json',
  })
  const ifExists = select([
    ['', t('ifSkipStored')],
    ['skip', t('ifSkipAll')],
    ['override', t('ifOverride')],
    ['error', t('ifError')],
  ])
  const time = h('input', { type: 'datetime-local', step: 1 })
  const status = statusLine()
  const bar = h('div')
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const chosen = file.files?.[0]
    if (chosen === undefined) return
    status.say('')
    try {
      const found = await readChosen(chosen, time.value === '' ? null : new Date(time.value).toISOString())
      await importFeatures(table, found, ifExists.value, { bar, status })
    } catch (error) {
      status.bad(error instanceof Error && !('faultName' in error) ? error.message : error)
    }
    fill(bar)
  }
  return h(
    'form',
    { class: 'card', onsubmit },
    h('p', { class: 'soft small' }, t('importHint', { n: formatNumber(PART_RECORDS) })),
    field(t('file'), file),
    h(
      'div',
      { class: 'grid' },
      field(t('ifExists'), ifExists),
      field(t('importDefaultTime'), time, t('importDefaultTimeHint')),
    ),
    h('div', { class: 'stack tight', role: 'status' }, bar),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('importStart'))),
  )
}

/** Places of the form that show how the import goes. */
interface Shown {
  readonly bar: HTMLElement
  readonly status: ReturnType<typeof statusLine>
}

/**
 * Sends the records of a file, with a progress bar and a button that stops the import.
 *
 * @param choice what happens to records that exist; empty: they are skipped, and the file must not repeat a key
 */
async function importFeatures(
  { data_name, unique_columns }: TableInfo,
  found: FileFeatures,
  choice: string,
  { bar, status }: Shown,
): Promise<void> {
  const shared = findSharedKeys(found.features, unique_columns)
  const allowsShared = choice === 'skip' || choice === 'override'
  if (shared.count > 0 && !allowsShared)
    return status.bad(`${sharedText(shared, found)} ${t('importSharedAdvice')}`)
  const count = found.features.length
  const stop = new AbortController()
  const progress = h('progress', { max: count, value: 0, 'aria-label': t('importStart') })
  const label = h('p', { class: 'small' })
  const cancel = button(t('cancel'), () => stop.abort(), 'small')
  fill(bar, progress, label, cancel)
  const options = { dataName: data_name, ifExists: choice || 'skip' }
  const { isDone, text } = await send(found, options, stop.signal, (done) => {
    progress.value = done
    label.textContent = t('importProgress', { n: formatNumber(done), m: formatNumber(count) })
  })
  if (!isDone) status.bad(text)
  else if (shared.count === 0) status.good(text)
  else status.say(`${text} ${sharedText(shared, found)}`, 'warn')
}

/** Reads the records of a file. @param timeIso time of records without one; null to leave them without */
async function readChosen(file: File, timeIso: string | null): Promise<FileFeatures> {
  const text = await file.text()
  try {
    const found = readFeatures(file.name, text)
    return { ...found, features: found.features.map((feature) => recordOf(feature, timeIso)) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(t('badFile', { reason }), { cause: error })
  }
}

/** Text about records with the key of an earlier one, with examples by their lines. */
function sharedText({ count, examples }: SharedKeys, { lines }: FileFeatures): string {
  const place = (record: number) => formatNumber(lines?.[record] ?? record + 1)
  const found = examples.map(({ first, second, key }) =>
    t(lines === undefined ? 'importSharedRecords' : 'importSharedLines', {
      n: place(second),
      m: place(first),
      key,
    }),
  )
  return `${t('importShared', { n: formatNumber(count) })} ${found.join(' ')}`
}

interface Options {
  dataName: string
  ifExists: string
}

/** Sends the features part by part. @returns the sums, or where the import stopped and why */
async function send(
  { features, lines }: FileFeatures,
  options: Options,
  signal: AbortSignal,
  onProgress: (done: number) => void,
): Promise<{ isDone: boolean; text: string }> {
  const sum = { inserted: 0, updated: 0, duplicates: 0 }
  let done = 0
  onProgress(0)
  try {
    while (done < features.length) {
      const part = features.slice(done, done + PART_RECORDS)
      const counters = await sendPart(part, options, signal)
      sum.inserted += counters.count_insert
      sum.updated += counters.count_update
      sum.duplicates += counters.count_duplicate
      done += part.length
      onProgress(done)
    }
  } catch (error) {
    const why = error instanceof DOMException ? '' : `${importFaultText(error, done, lines)} `
    return { isDone: false, text: `${why}${t('importStopped', { n: formatNumber(done) })}` }
  }
  const text = t('importDone', {
    n: formatNumber(done),
    inserted: formatNumber(sum.inserted),
    updated: formatNumber(sum.updated),
    skipped: formatNumber(sum.duplicates - sum.updated),
  })
  return { isDone: true, text }
}

async function sendPart(part: readonly Feature[], options: Options, signal: AbortSignal): Promise<Counters> {
  const { dataName, ifExists } = options
  const path = `/api/v1/dataloaderapi/stream/${encodeURIComponent(dataName)}?if_exists=${ifExists}`
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: part.map((feature) => JSON.stringify(feature)).join('\n'),
    signal,
  })
  const answer = await readAnswer(response)
  if (answer.error !== undefined) throw rpcFault(response.status, answer.error)
  return ('result' in answer ? answer.result : answer) as Counters
}

/** Text of a refused part: with the line of the file where the gateway names one of its request. */
function importFaultText(error: unknown, sentBefore: number, lines: readonly number[] | undefined): string {
  if (!isFault(error)) return faultText(error)
  const place = placeOfFault(error.data, sentBefore, lines)
  if (place === undefined) return faultText(error)
  const reason = String(error.data.reason ?? error.message)
  return 'line' in place
    ? t('importFaultLine', { n: formatNumber(place.line), reason })
    : t('importFaultRecord', { n: formatNumber(place.record), reason })
}
