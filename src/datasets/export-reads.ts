import { randomUUID } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'
import type { RowState } from '../storage/datasets/states.js'
import { type ExportFormat, exportText, writeState } from '../storage/formats/export.js'
import { createPause } from '../storage/work/pause.js'
import type { ReadHandler } from '../worker/read-host.js'
import { type DatasetReading, queryOf, type RowsRead, requireRows } from './reads.js'

/** Forms in which rows are sent. */
export const SENT_FORMATS = ['csv', 'geojson', 'gpkg'] as const satisfies readonly ExportFormat[]
export type SentFormat = (typeof SENT_FORMATS)[number]

/** Request for the rows of a label as a file. */
export interface ExportRead extends RowsRead {
  readonly format: SentFormat
}

/** Facts on the file before its first byte. */
export interface ExportHead {
  readonly name: string
  /** file that has been written for it, which whoever takes it removes; null for text, which follows */
  readonly file: { readonly path: string; readonly sizeBytes: number } | null
}

interface ExportSource extends DatasetReading {
  readonly tempDir: string
  /** most rows of a file that is written before it is sent */
  readonly maxFileRows: number
}

/** Name of the read. */
export const EXPORT_READ = 'dataset.export'

const WGS84 = 4326
/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5

/**
 * Returns the read that makes files of rows. Text is made while it is sent; a GeoPackage is a database, which is
 * written first.
 */
export function exportReads(source: ExportSource): Record<string, ReadHandler> {
  return {
    async [EXPORT_READ](read: ExportRead, { signal }) {
      const state = await requireRows(source, read)
      const { format } = read
      if (format === 'geojson') requireDegrees(state)
      const { timeZoneMin, keyring, readFile, largeReads, nextTurn } = source
      const options = {
        ...{ env: { timeZoneMin, nowUs: BigInt(source.nowUs()) }, keyring, readFile, signal },
        ...(largeReads === undefined ? {} : { largeReads }),
        ...{ pause: createPause(signal, SLICE_MS, nextTurn), query: queryOf(read) },
        paths: { conds: 'conds', order: 'order', columns: 'columns' },
      }
      const name = `${state.info.longForm}.${format}`
      if (format !== 'gpkg') return { head: { name, file: null }, text: exportText(state, format, options) }
      const file = await writeFile(source, state, options)
      return { head: { name, file } satisfies ExportHead, text: nothing() }
    },
  }
}

/** Writes a GeoPackage among the temporary files. @throws AppError TOO_EXPENSIVE for too many rows */
async function writeFile(
  { tempDir, maxFileRows }: ExportSource,
  state: RowState,
  options: Parameters<typeof writeState>[3],
): Promise<NonNullable<ExportHead['file']>> {
  const file = path.join(tempDir, `${randomUUID()}.gpkg`)
  const onRows = (count: number) => {
    if (count <= maxFileRows) return
    const message = `Found more than ${maxFileRows} rows (limits.exportRows), expected fewer in a GeoPackage: add a condition, or ask for csv or geojson`
    throw new AppError('TOO_EXPENSIVE', {}, { message })
  }
  try {
    await writeState(state, 'gpkg', file, { ...options, onRows })
    return { path: file, sizeBytes: (await stat(file)).size }
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

/** @throws AppError INVALID_PARAMS for a geometry in another system than that of GeoJSON */
function requireDegrees({ columns }: RowState): void {
  const place = columns.find(({ srid }) => srid !== null)
  if (place === undefined || place.srid === WGS84) return
  const message = `format: found geojson for ${place.name} of EPSG:${place.srid}, expected csv or gpkg: GeoJSON has EPSG:${WGS84} only`
  throw new AppError('INVALID_PARAMS', { path: 'format' }, { message })
}

async function* nothing(): AsyncGenerator<string> {
  yield ''
}
