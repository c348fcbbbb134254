import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import type { Keyring } from '../../keyring.js'
import type { Db } from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import type { StateColumn } from '../datasets/column.js'
import { canonicalHead, canonicalLine } from './canonical.js'
import type { Citation, FoundCitation } from './catalog.js'
import { csvText } from './csv.js'
import { geojsonText } from './geojson.js'
import { writeGeopackage } from './geopackage.js'
import type { StatePaths, StateQuery } from './plan.js'
import { decryptValue } from './print.js'
import { readState, type StateRow } from './state.js'

export const EXPORT_FORMATS = ['gpkg', 'geojson', 'csv', 'canonical'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  /** a connection that sees committed rows only */
  readonly db: Db
  readonly env: ValueEnv
  readonly keyring: Pick<Keyring, 'decrypt'>
  /** bytes of a stored file, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
  /** ends it; nothing is left behind */
  readonly signal?: AbortSignal
  /** told after each page */
  onRows?(rowCount: number): void
  /** rows that are wanted; all unless given */
  readonly query?: StateQuery
  /** where the query stands in the caller's params, for messages */
  readonly paths?: StatePaths
}

/** A cited state as the writers of files see it. */
export interface ExportedState {
  readonly citation: Citation
  readonly columns: readonly StateColumn[]
  readonly keyColumns: readonly string[]
  readonly env: ValueEnv
  readonly pages: AsyncIterable<ExportRow[]>
}

/** Encrypted values are plain text here, and a file's bytes stand in the place of its digest. */
export interface ExportRow {
  readonly rowId: number
  readonly values: readonly Stored[]
}

const PAGE_ROWS = 500
/** Rows of a page that carries files: each may be as large as a call. */
const FILE_PAGE_ROWS = 4

/**
 * Writes a cited state to a file, in constant memory. The file appears whole or not at all: it is written under another
 * name beside it, synced, and renamed.
 *
 * @returns rows written
 */
export async function exportCitation(
  citation: FoundCitation,
  format: ExportFormat,
  file: string,
  options: ExportOptions,
): Promise<number> {
  const temp = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.part`)
  try {
    await rm(temp, { force: true })
    const rowCount = await writeState(citation, format, temp, options)
    await sync(temp)
    await rename(temp, file)
    await sync(path.dirname(file))
    return rowCount
  } finally {
    await rm(temp, { force: true })
  }
}

/**
 * The same into a new file, which nobody needs after a crash, nor when this fails: it is not synced, and may stay half
 * written.
 */
export async function writeState(
  citation: Pick<FoundCitation, 'info' | 'state'>,
  format: ExportFormat,
  file: string,
  options: ExportOptions,
): Promise<number> {
  let rowCount = 0
  const state = openExport(citation, options, format === 'canonical', (rows) => {
    rowCount += rows
    options.onRows?.(rowCount)
  })
  if (format === 'gpkg') await writeGeopackage(file, state)
  else await pipeline(Readable.from(textOf(format, state)), createWriteStream(file, { flags: 'wx' }))
  return rowCount
}

function textOf(format: Exclude<ExportFormat, 'gpkg'>, state: ExportedState): AsyncGenerator<string> {
  switch (format) {
    case 'geojson':
      return geojsonText(state)
    case 'csv':
      return csvText(state)
    default:
      return canonicalText(state)
  }
}

/** Exactly the bytes that the checksum is made of: `sha256sum` gives it. */
async function* canonicalText({ columns, pages }: ExportedState): AsyncGenerator<string> {
  yield canonicalHead(columns)
  for await (const rows of pages) yield rows.map(({ values }) => canonicalLine(columns, values)).join('')
}

function openExport(
  { info, state }: Pick<FoundCitation, 'info' | 'state'>,
  options: ExportOptions,
  isAsStored: boolean,
  onPage: (rows: number) => void,
): ExportedState {
  const { db, env } = options
  const hasFiles = state.columns.some(({ isFile }) => isFile) && !isAsStored
  const pageRows = hasFiles ? FILE_PAGE_ROWS : PAGE_ROWS
  const pause = createPause(options.signal, 50)
  const { columns, pages } = readState(
    { db, env, pageRows, pause },
    state,
    options.query ?? {},
    options.paths,
  )
  async function* opened(): AsyncGenerator<ExportRow[]> {
    for await (const rows of pages) {
      const page: ExportRow[] = []
      for (const row of rows) page.push(isAsStored ? toRow(row) : await openRow(row))
      onPage(page.length)
      yield page
    }
  }
  const openRow = async (row: StateRow): Promise<ExportRow> => {
    const { rowId, values } = toRow(row)
    for (const [at, column] of columns.entries()) {
      const value = values[at] as Stored
      if (value === null) continue
      if (column.isEncrypted) values[at] = decryptValue(state.table, column, value, options.keyring)
      else if (column.isFile) values[at] = await options.readFile(value as string)
    }
    return { rowId, values }
  }
  return { citation: info, columns, keyColumns: state.table.keyColumns, env, pages: opened() }
}

function toRow([rowId, ...values]: StateRow): { rowId: number; values: Stored[] } {
  return { rowId: Number(rowId), values }
}

async function sync(name: string): Promise<void> {
  const handle = await open(name, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
