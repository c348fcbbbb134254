import { AppError, isAppError, messageOf } from '../errors.js'
import { faultText, isFault } from '../geo/fault.js'
import { parseExact } from '../json/exact-json.js'
import { readGeometry } from '../storage/columns/byte-types.js'
import type { OnConflict } from '../storage/datasets/datasets.js'
import type { Field } from '../storage/formats/read-csv.js'
import type { RowBatch, RowBatches } from '../storage/row-batch.js'
import type { IfExists, PutOptions } from '../storage/tables.js'
import { badOutput, openCsvOutput } from './output-file.js'

/** CSV file of a run, and the table that its rows are written to. Plain data: another thread writes them. */
export interface PutItem {
  readonly label: string
  readonly kind: 'dataset' | 'loader'
  readonly name: string
  readonly file: string
  readonly onConflict: OnConflict
}

interface PutDeps {
  readonly batches: RowBatches
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** µs UTC */
  readonly nowUs: number
  /** how loader tables store records */
  readonly loader: Omit<PutOptions, 'ifExists'>
  /** @throws AppError CANCELLED */
  throwIfCancelled(): void
  /** called when the rows are written and not yet committed; what it throws rolls them back */
  beforeCommit(): Promise<void>
}

const IF_EXISTS: Record<OnConflict, IfExists> = { error: 'error', update: 'override', nothing: 'skip' }

/**
 * Writes the rows of every file in one transaction: all of them or none.
 *
 * @returns rows written, in the order of the items
 * @throws AppError BAD_OUTPUT with label, record and column; UNKNOWN_DATASET, UNKNOWN_TABLE, DISK_FULL,
 *   CANCELLED
 */
export async function putOutputs(items: readonly PutItem[], deps: PutDeps): Promise<number[]> {
  return await deps.batches.run(async (batch) => {
    const counts: number[] = []
    for (const item of items) counts.push(await putFile(item, batch, deps))
    await deps.beforeCommit()
    return counts
  })
}

async function putFile(item: PutItem, batch: RowBatch, deps: PutDeps): Promise<number> {
  const { names, batches } = await openCsvOutput(item.label, item.file)
  const open = item.kind === 'dataset' ? openDatasetPutter : openLoaderPutter
  const put = await open(item, names, batch, deps)
  let done = 0
  let written = 0
  for await (const rows of batches) {
    deps.throwIfCancelled()
    try {
      written += await put(rows)
    } catch (error) {
      throw atRecord(item.label, error, done)
    }
    done += rows.length
  }
  return written
}

/** Writes rows of a file. @returns rows written */
type Putter = (rows: readonly Field[][]) => Promise<number>

async function openDatasetPutter(
  { label, name, onConflict }: PutItem,
  names: readonly string[],
  batch: RowBatch,
  { nowUs, timeZoneMin, throwIfCancelled }: PutDeps,
): Promise<Putter> {
  const { columns, put } = await batch.dataset(name)
  const known = columns.map((column) => column.name)
  const unknown = names.find((one) => !known.includes(one))
  if (unknown !== undefined) throw unknownColumn(label, unknown, known)
  const slots = columns.map((column) => names.indexOf(column.name))
  const pause = () => {
    throwIfCancelled()
    return undefined
  }
  return async (rows) => {
    const records = rows.map((row, index) =>
      columns.map(({ udtName }, at) => {
        const text = row[slots[at] ?? -1] ?? null
        return text !== null && udtName.startsWith('json') ? parseJson(text, index) : text
      }),
    )
    return await put({ records, onConflict, nowUs, timeZoneMin }, pause)
  }
}

/** The place is WKT in `location`, or degrees in `lng` and `lat` where the table has no such columns. */
async function openLoaderPutter(
  { label, name, onConflict }: PutItem,
  names: readonly string[],
  batch: RowBatch,
  { loader }: PutDeps,
): Promise<Putter> {
  const { table, put } = await batch.table(name)
  const has = (one: string) => table.columnByName.has(one)
  const isByDegrees =
    !names.includes('location') &&
    names.includes('lng') &&
    names.includes('lat') &&
    !has('lng') &&
    !has('lat')
  const places = isByDegrees ? ['lng', 'lat'] : ['location']
  const unknown = names.find((one) => !has(one) && !places.includes(one))
  if (unknown !== undefined) throw unknownColumn(label, unknown, [...table.columnByName.keys()])
  const [lng, lat, location] = [names.indexOf('lng'), names.indexOf('lat'), names.indexOf('location')]
  const properties = [...names.entries()].filter(([, one]) => !places.includes(one))
  const ifExists = IF_EXISTS[onConflict]
  return async (rows) => {
    const records = rows.map((row) => ({
      type: 'Feature',
      geometry: isByDegrees ? pointOf(row[lng] ?? null, row[lat] ?? null) : geometryOf(row[location] ?? null),
      properties: Object.fromEntries(properties.map(([slot, one]) => [one, row[slot] ?? null])),
    }))
    const counters = await put(records, { ...loader, ifExists })
    return counters.insert + counters.update
  }
}

/** A text that is no number is kept: the check of the record refuses it. */
function pointOf(lng: Field, lat: Field): unknown {
  if (lng === null && lat === null) return null
  const numberOf = (text: Field) =>
    text === null || text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  return { type: 'Point', coordinates: [numberOf(lng), numberOf(lat)] }
}

function geometryOf(text: Field): unknown {
  if (text === null) return null
  const geometry = readGeometry(text, undefined)
  return isFault(geometry) ? faultText(geometry) : geometry
}

function parseJson(text: string, index: number): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    const reason = `found invalid JSON: ${messageOf(error)}`
    throw new AppError('BAD_RECORD', { index, column: null, reason }, { message: reason })
  }
}

function unknownColumn(label: string, found: string, known: readonly string[]): AppError {
  const names = known.slice(0, 20).join(', ')
  return badOutput(
    label,
    `found the column ${JSON.stringify(found.slice(0, 100))}, expected some of ${names}`,
  )
}

/** Returns the error of a record with its position in the file. @param before records of earlier batches */
function atRecord(label: string, error: unknown, before: number): unknown {
  if (!isAppError(error) || typeof error.data.index !== 'number') return error
  const { index, column = null, reason: detail } = error.data
  const record = before + index + 1
  const text = typeof detail === 'string' ? detail : error.message
  const reason = (typeof column === 'string' ? `${column}: ${text}` : text).slice(0, 500)
  const data = { output: label, record, column, reason }
  return new AppError('BAD_OUTPUT', data, { message: `Output ${label}, record ${record}: ${reason}` })
}
