import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../errors.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { RowState, StatePaths, StateQuery, StateRow } from '../datasets/states.js'
import type { Keyring } from '../keyring.js'
import type { LargeReads } from '../work/large-reads.js'
import { createPause, type Pause } from '../work/pause.js'
import { canonicalHead, canonicalLine } from './canonical.js'
import { decryptValue } from './decrypt-value.js'
import type { ExportedState, ExportRow } from './exported-state.js'
import { syncedRename } from './synced-rename.js'
import { csvText } from './write-csv.js'
import { geojsonText } from './write-geojson.js'
import { writeGeopackage } from './write-geopackage.js'

/** Forms of exported files; `canonical` is the text that the checksum is computed over. */
export const EXPORT_FORMATS = ['gpkg', 'geojson', 'csv', 'canonical'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

interface ExportOptions {
  readonly env: ValueEnv
  readonly keyring: Pick<Keyring, 'read'>
  /** reads the bytes of a stored file by its digest, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
  /** ends the export; no file is left */
  readonly signal?: AbortSignal
  /** called between steps; absent where nothing else waits for the thread */
  readonly pause?: Pause
  /** turns of reads that share the memory of a thread */
  readonly largeReads?: LargeReads
  /** called after each page with the number of rows written so far */
  onRows?(rowCount: number): void
  /** rows to export, all if absent */
  readonly query?: StateQuery
  /** places of the query's parts in the caller's params, for messages */
  readonly paths?: StatePaths
}

const PAGE_ROWS = 500
/** Rows of a page with file columns: each row may be as large as a call. */
const FILE_PAGE_ROWS = 4
/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 50

/**
 * Writes the rows of a state to a file, in constant memory. The file appears whole or not at all: it is
 * written under another name in the same directory, synced, and renamed.
 *
 * @returns rows written
 * @throws AppError BAD_CONDITION, INVALID_PARAMS, CANCELLED
 */
export async function exportState(
  state: RowState,
  format: ExportFormat,
  file: string,
  options: ExportOptions,
): Promise<number> {
  const temp = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.part`)
  try {
    await rm(temp, { force: true })
    const rowCount = await writeState(state, format, temp, options)
    await syncedRename(temp, file)
    return rowCount
  } finally {
    await rm(temp, { force: true })
  }
}

/**
 * Writes the rows of a state to a new file without syncing it. A failure leaves the file half written: for
 * files that are of no use after a crash.
 *
 * @returns rows written
 * @throws AppError BAD_CONDITION, INVALID_PARAMS, CANCELLED
 */
export async function writeState(
  state: RowState,
  format: ExportFormat,
  file: string,
  options: ExportOptions,
): Promise<number> {
  let rowCount = 0
  const exported = await openExport(state, options, format === 'canonical', (rows) => {
    rowCount += rows
    options.onRows?.(rowCount)
  })
  if (format === 'gpkg') await writeGeopackage(file, exported)
  else await pipeline(Readable.from(textOf(format, exported)), createWriteStream(file, { flags: 'wx' }))
  return rowCount
}

/**
 * Yields the text of a state, page by page.
 *
 * @throws AppError as `exportState`, at the first step what is wrong with the query
 */
export async function* exportText(
  state: RowState,
  format: Exclude<ExportFormat, 'gpkg'>,
  options: ExportOptions,
): AsyncGenerator<string> {
  yield* textOf(format, await openExport(state, options, format === 'canonical', () => undefined))
}

function textOf(format: Exclude<ExportFormat, 'gpkg'>, state: ExportedState): AsyncGenerator<string> {
  switch (format) {
    case 'geojson':
      return geojsonText(state)
    case 'csv':
      return csvText(state)
    case 'canonical':
      return canonicalText(state)
  }
}

/** Yields the text that the checksum is computed over, byte for byte. */
async function* canonicalText({ columns, pages }: ExportedState): AsyncGenerator<string> {
  yield canonicalHead(columns)
  for await (const rows of pages) yield rows.map(({ values }) => canonicalLine(columns, values)).join('')
}

async function openExport(
  state: RowState,
  options: ExportOptions,
  isAsStored: boolean,
  onPage: (rows: number) => void,
): Promise<ExportedState> {
  const { env, query = {}, paths } = options
  const hasFiles = state.columns.some(({ isFile }) => isFile) && !isAsStored
  const pageRows = hasFiles ? FILE_PAGE_ROWS : PAGE_ROWS
  const { signal, largeReads, pause = createPause(signal, SLICE_MS) } = options
  const reading = { env, pageRows, pause, paths, largeReads, signal }
  const { columns, pages } = await state.read(query, reading)
  const { info, keyColumns } = state
  const isPlain = isAsStored || !columns.some(({ isEncrypted, isFile }) => isEncrypted || isFile)
  const openRow = async (row: StateRow): Promise<ExportRow> => {
    const { rowId, values } = toRow(row)
    for (const [at, { name, isEncrypted, isFile }] of columns.entries()) {
      const value = values[at] ?? null
      if (value === null) continue
      if (isEncrypted) values[at] = readSecret(info.datasetName, name, value, options.keyring)
      else if (isFile) values[at] = await options.readFile(String(value))
    }
    return { rowId, values }
  }
  async function* opened(): AsyncGenerator<ExportRow[]> {
    for await (const rows of pages) {
      const page: ExportRow[] = isPlain ? rows.map(toRow) : []
      if (!isPlain) for (const row of rows) page.push(await openRow(row))
      onPage(page.length)
      yield page
    }
  }
  return { citation: info, columns, keyColumns, env, pages: opened() }
}

function toRow(row: StateRow): { rowId: number; values: Stored[] } {
  return { rowId: Number(row[0]), values: row.slice(1) }
}

/** Decrypts a value. @throws AppError for one of another key: an exported file must not lack it silently */
function readSecret(table: string, column: string, value: Stored, keyring: Pick<Keyring, 'read'>): string {
  const text = decryptValue(table, column, value, keyring)
  if (text === null) {
    const message = `${table}.${column}: found a value of another key than the key file's`
    throw new AppError('STORAGE_DAMAGED', {}, { message })
  }
  return text
}
