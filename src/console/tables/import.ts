import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { localText } from '../core/inputs.js'
import { button, faultText, field, select, statusLine } from '../core/parts.js'
import { isFault, readAnswer, request, rpcFault } from '../core/rpc.js'
import type { TableInfo } from '../core/tables.js'
import { placeOfFault, recordLine } from './import-record.js'
import { type Feature, type FileFeatures, readFeatures } from './read-file.js'
import type { Counters } from './record-form.js'

/**
 * Records of one request: small enough that the progress bar moves, large enough that round trips do not
 * matter.
 */
const PART_RECORDS = 2000

/** Form that imports a file into a table, in parts. */
export function importForm({ data_name }: TableInfo): HTMLElement {
  const file = h('input', {
    type: 'file',
    required: true,
    accept: '.geojson,.json,.ndjson,.jsonl,.geojsonl,.csv,application/geo+json',
  })
  const ifExists = select([
    ['skip', t('ifSkip')],
    ['override', t('ifOverride')],
    ['error', t('ifError')],
  ])
  const time = h('input', { type: 'datetime-local', step: 1, value: localText(Date.now()) })
  const status = statusLine()
  const bar = h('div')
  let stop: AbortController | undefined
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const chosen = file.files?.[0]
    if (chosen === undefined) return
    stop = new AbortController()
    const options = {
      dataName: data_name,
      ifExists: ifExists.value,
      timeIso: new Date(time.value).toISOString(),
    }
    status.say('')
    try {
      const found = await readChosen(chosen)
      const count = found.features.length
      const progress = h('progress', { max: count, value: 0, 'aria-label': t('importStart') })
      const label = h('p', { class: 'small' })
      const cancel = button(t('cancel'), () => stop?.abort(), 'small')
      fill(bar, progress, label, cancel)
      await send(found, options, stop.signal, status, (done) => {
        progress.value = done
        label.textContent = t('importProgress', { n: formatNumber(done), m: formatNumber(count) })
      })
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
    h('div', { class: 'grid' }, field(t('ifExists'), ifExists), field(t('importDefaultTime'), time)),
    h('div', { class: 'stack tight', role: 'status' }, bar),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('importStart'))),
  )
}

async function readChosen(file: File): Promise<FileFeatures> {
  const text = await file.text()
  try {
    return readFeatures(file.name, text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(t('badFile', { reason }), { cause: error })
  }
}

interface Options {
  dataName: string
  ifExists: string
  /** time of features that have none */
  timeIso: string
}

/** Sends the features part by part, and reports the sums or where the import stopped. */
async function send(
  { features, lines }: FileFeatures,
  options: Options,
  signal: AbortSignal,
  status: ReturnType<typeof statusLine>,
  onProgress: (done: number) => void,
): Promise<void> {
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
    return status.bad(`${why}${t('importStopped', { n: formatNumber(done) })}`)
  }
  status.good(
    t('importDone', {
      n: formatNumber(done),
      inserted: formatNumber(sum.inserted),
      updated: formatNumber(sum.updated),
      skipped: formatNumber(sum.duplicates - sum.updated),
    }),
  )
}

async function sendPart(part: readonly Feature[], options: Options, signal: AbortSignal): Promise<Counters> {
  const { dataName, ifExists, timeIso } = options
  const path = `/api/v1/dataloaderapi/stream/${encodeURIComponent(dataName)}?if_exists=${ifExists}`
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: part.map((feature) => recordLine(feature, timeIso)).join('\n'),
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
