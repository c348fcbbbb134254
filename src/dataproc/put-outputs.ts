import { AppError, isAppError, messageOf } from '../errors.js'
import { faultText, isFault } from '../geo/fault.js'
import { readGeometry } from '../storage/columns/column-types-bytes.js'
import { asyncTransaction, type Db } from '../storage/sqlite/connection/database.js'
import type { Field } from '../storage/sqlite/datasets/import-csv.js'
import { type OnConflict, putDatasetRecords } from '../storage/sqlite/datasets/put.js'
import { requireDataset } from '../storage/sqlite/datasets/rows.js'
import { findTable } from '../storage/sqlite/tables/catalog.js'
import { putRecordsWithin } from '../storage/sqlite/tables/put.js'
import type { PutOptions } from '../storage/tables.js'
import { badOutput, openCsvOutput } from './output-file.js'

/** A CSV file that a run put out, and where its rows go. Plain data: another thread puts them. */
export interface PutItem {
  readonly label: string
  readonly kind: 'dataset' | 'loader'
  readonly name: string
  readonly file: string
  readonly onConflict: OnConflict
}

export interface PutDeps {
  /** the writing connection; its caller holds the write lock */
  readonly db: Db
  readonly timeZoneMin: number
  readonly nowUs: number
  /** how loader tables take records */
  readonly loader: Omit<PutOptions, 'ifExists'>
  /** @throws AppError CANCELLED */
  throwIfCancelled(): void
  /** the rows are in place, and seen by nobody. @throws anything that shall take them back */
  beforeCommit(): Promise<void>
}

const IF_EXISTS = { error: 'error', update: 'override', nothing: 'skip' } as const

/**
 * Puts the rows of every file, in one transaction: all of them or none.
 *
 * @returns rows put, in the order of the items
 * @throws AppError BAD_OUTPUT naming label, record and column; DISK_FULL, CANCELLED
 */
export async function putOutputs(items: readonly PutItem[], deps: PutDeps): Promise<number[]> {
  return await asyncTransaction(deps.db, async () => {
    const counts: number[] = []
    for (const item of items) counts.push(await putFile(item, deps))
    await deps.beforeCommit()
    return counts
  })
}

async function putFile(item: PutItem, deps: PutDeps): Promise<number> {
  const csv = await openCsvOutput(item.label, item.file)
  const put =
    item.kind === 'dataset' ? datasetPutter(item, csv.names, deps) : loaderPutter(item, csv.names, deps)
  let done = 0
  let written = 0
  for await (const batch of csv.batches) {
    deps.throwIfCancelled()
    try {
      written += await put(batch)
    } catch (error) {
      throw atRecord(item.label, error, done)
    }
    done += batch.length
  }
  return written
}

type Putter = (rows: readonly Field[][]) => Promise<number>

function datasetPutter(
  { label, name, onConflict }: PutItem,
  names: readonly string[],
  deps: PutDeps,
): Putter {
  const { db, nowUs, timeZoneMin } = deps
  const { columns } = requireDataset(db, name).table
  const unknown = names.find((one) => !columns.some((column) => column.name === one))
  if (unknown !== undefined)
    throw unknownColumn(
      label,
      unknown,
      columns.map((column) => column.name),
    )
  const slots = columns.map((column) => names.indexOf(column.name))
  const options = {
    onConflict,
    nowUs,
    env: { timeZoneMin, nowUs: BigInt(nowUs) },
    pause: () => {
      deps.throwIfCancelled()
      return undefined
    },
  }
  return async (rows) => {
    const records = rows.map((row, at) =>
      columns.map(({ udtName }, slot) => {
        const text = row[slots[slot] ?? -1] ?? null
        return text !== null && udtName.startsWith('json') ? parseJson(text, at) : text
      }),
    )
    return await putDatasetRecords(db, requireDataset(db, name), records, options)
  }
}

/** The place is WKT in `location`, or in degrees in `lng` and `lat` where the table has no such columns. */
function loaderPutter({ label, name, onConflict }: PutItem, names: readonly string[], deps: PutDeps): Putter {
  const { db, loader } = deps
  const table = findTable(db, name)
  if (table === undefined)
    throw new AppError('UNKNOWN_TABLE', { data_name: name }, { message: `The table ${name} is gone` })
  const has = (one: string) => table.columnByName.has(one)
  const byDegrees =
    !names.includes('location') &&
    names.includes('lng') &&
    names.includes('lat') &&
    !has('lng') &&
    !has('lat')
  const places = byDegrees ? ['lng', 'lat'] : ['location']
  const unknown = names.find((one) => !has(one) && !places.includes(one))
  if (unknown !== undefined) throw unknownColumn(label, unknown, [...table.columnByName.keys()])
  const [lng, lat, location] = [names.indexOf('lng'), names.indexOf('lat'), names.indexOf('location')]
  const given = names
    .map((one, slot): [string, number] => [one, slot])
    .filter(([one]) => !places.includes(one))
  return async (rows) => {
    const records = rows.map((row) => ({
      type: 'Feature',
      geometry: byDegrees ? pointOf(row[lng] ?? null, row[lat] ?? null) : geometryOf(row[location] ?? null),
      properties: Object.fromEntries(given.map(([one, slot]) => [one, row[slot] ?? null])),
    }))
    const { counters } = await putRecordsWithin(db, table, records, {
      ...loader,
      ifExists: IF_EXISTS[onConflict],
    })
    return counters.insert + counters.update
  }
}

/** What is no number stays text, for the check of the record to refuse. */
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
    return JSON.parse(text)
  } catch (error) {
    const reason = `found no JSON: ${messageOf(error)}`
    throw new AppError(
      'BAD_RECORD',
      { index, column: null, reason },
      { message: `records[${index}]: ${reason}` },
    )
  }
}

function unknownColumn(label: string, found: string, known: readonly string[]): AppError {
  const names = known.slice(0, 20).join(', ')
  return badOutput(
    label,
    `found the column ${JSON.stringify(found.slice(0, 100))}, expected some of ${names}`,
  )
}

/** Records are counted within their batch: told is their place in the file. */
function atRecord(label: string, error: unknown, before: number): unknown {
  if (!isAppError(error) || typeof error.data.index !== 'number') return error
  const record = before + error.data.index + 1
  const reason = error.message.replace(/^record(?:_set|s)\[\d+\](?:, |: )?/, '').slice(0, 500)
  const data = { output: label, record, column: error.data.column ?? null, reason }
  return new AppError('BAD_OUTPUT', data, { message: `Output ${label}, record ${record}: ${reason}` })
}
