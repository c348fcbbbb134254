import { isFileFault } from '../../tabular/faults.js'
import type { ImportPlan } from '../../tabular/plan.js'
import { recordOf } from '../../tabular/record.js'
import type { FileRow, RowFile } from '../../tabular/row-file.js'
import { faultText, valueFaultText } from '../core/fault-text.js'
import { formatNumber, sentences, t } from '../core/i18n.js'
import { isFault, readAnswer, request, rpcFault } from '../core/rpc.js'
import { fileFaultText } from './fault-text.js'

/** Counters in the result of an upload; duplicates include updates. */
export interface Counters {
  count_insert: number
  count_update: number
  count_duplicate: number
}

/** Outcome of an import. */
export interface Sent {
  readonly isDone: boolean
  /** records that the gateway has taken */
  readonly done: number
  readonly inserted: number
  readonly text: string
}

interface SendOptions {
  readonly plan: ImportPlan
  readonly dataName: string
  readonly ifExists: string
  readonly signal: AbortSignal
  /** start and end of records without any; null to leave them without */
  readonly timeIso: string | null
  onProgress(done: number): void
}

/** Sends the records of a file part by part, each in a request of its own. */
export async function sendFile(file: RowFile, options: SendOptions): Promise<Sent> {
  const sum = { inserted: 0, updated: 0, duplicates: 0 }
  let done = 0
  options.onProgress(0)
  try {
    for await (const rows of file.batches()) {
      const counters = await sendPart(rows, file, options)
      sum.inserted += counters.count_insert
      sum.updated += counters.count_update
      sum.duplicates += counters.count_duplicate
      done += rows.length
      options.onProgress(done)
    }
  } catch (error) {
    const why = error instanceof DOMException ? [] : [errorText(error)]
    const text = sentences(...why, t('importStopped', { n: formatNumber(done) }))
    return { isDone: false, done, inserted: sum.inserted, text }
  }
  const text = t('importDone', {
    n: formatNumber(done),
    inserted: formatNumber(sum.inserted),
    updated: formatNumber(sum.updated),
    skipped: formatNumber(sum.duplicates - sum.updated),
  })
  return { isDone: true, done, inserted: sum.inserted, text }
}

/** Fault of a part: it names the line of the file, where the gateway names one of the request. */
type PartFault = Error & { readonly inFile: string }

async function sendPart(
  rows: readonly FileRow[],
  { places }: RowFile,
  { plan, dataName, ifExists, signal, timeIso }: SendOptions,
): Promise<Counters> {
  const path = `/api/v1/dataloaderapi/stream/${encodeURIComponent(dataName)}?if_exists=${ifExists}`
  const lines = rows.map((row) => JSON.stringify(withTime(recordOf(plan, row), timeIso)))
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: lines.join('\n'),
    signal,
  })
  const answer = await readAnswer(response)
  if (answer.error === undefined) return ('result' in answer ? answer.result : answer) as Counters
  const fault = rpcFault(response.status, answer.error)
  const row = typeof fault.data.line === 'number' ? rows[fault.data.line - 1] : undefined
  if (row === undefined) throw fault
  const values = {
    n: formatNumber(row.place),
    reason: valueFaultText(String(fault.data.reason ?? fault.message)),
  }
  const inFile = t(places === 'lines' ? 'importFaultLine' : 'importFaultRecord', values)
  throw Object.assign(new Error(inFile), { inFile })
}

type Row = ReturnType<typeof recordOf>

/**
 * Record with `timeIso` as its start and end where it has neither; one with a single time keeps the other one
 * null.
 */
export function withTime(record: Row, timeIso: string | null): Row {
  const { start_datetime: start = null, end_datetime: end = null } = record.properties
  if (timeIso === null || start !== null || end !== null) return record
  return { ...record, properties: { ...record.properties, start_datetime: timeIso, end_datetime: timeIso } }
}

function errorText(error: unknown): string {
  if (isFileFault(error)) return fileFaultText(error)
  if (error instanceof Error && 'inFile' in error) return (error as PartFault).inFile
  return isFault(error) || !(error instanceof Error) ? faultText(error) : error.message
}
