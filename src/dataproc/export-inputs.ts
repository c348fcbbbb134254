import type { Keyring } from '../storage/keyring.js'
import { writeState } from '../storage/sqlite/citations/export.js'
import type { Db } from '../storage/sqlite/connection/database.js'
import { findDataSource } from './data-source.js'

/** Records that a run is handed, and where to. Plain data: another thread writes them. */
export interface ExportItem {
  readonly label: string
  /** `data_ddc` */
  readonly name: string
  readonly query: {
    conds?: unknown
    order?: unknown
    limit?: number | undefined
    offset?: number | undefined
  }
  readonly csvFile: string
  /** written when there is geometry */
  readonly geopackageFile: string
}

/** What was written. */
export interface ExportedInput {
  readonly label: string
  readonly rows: number
  readonly columns: readonly { name: string; data_type: string }[]
  readonly hasGeopackage: boolean
}

export interface ExportDeps {
  /** sees committed rows only, and is used by nobody else meanwhile */
  readonly reader: Db
  readonly keyring: Pick<Keyring, 'decrypt'>
  readonly timeZoneMin: number
  readonly nowUs: number
  readFile(digest: string): Promise<Uint8Array>
  /** called after each page. @throws AppError CANCELLED, DISK_FULL */
  onRows(): void
}

/**
 * Writes the inputs of a run, all of one state of the database.
 *
 * @throws AppError UNKNOWN_DATASET, BAD_CONDITION, CANCELLED
 */
export async function exportInputs(items: readonly ExportItem[], deps: ExportDeps): Promise<ExportedInput[]> {
  const { reader } = deps
  reader.exec('BEGIN') // one snapshot: writers go on, and are not seen
  try {
    const exported: ExportedInput[] = []
    for (const item of items) exported.push(await exportInput(item, deps))
    return exported
  } finally {
    reader.exec('COMMIT')
  }
}

async function exportInput(item: ExportItem, deps: ExportDeps): Promise<ExportedInput> {
  const { reader: db, timeZoneMin, nowUs, keyring, readFile, onRows } = deps
  const source = findDataSource(db, item.name, nowUs)
  const at = `$.input.${item.label}`
  const options = {
    ...{ db, keyring, readFile, onRows },
    env: { timeZoneMin, nowUs: BigInt(nowUs) },
    query: item.query,
    paths: { conds: `${at}.query`, order: `${at}.order`, columns: at },
  }
  const rows = await writeState(source, 'csv', item.csvFile, options)
  const { columns } = source.state
  const hasGeopackage = columns.some(({ srid }) => srid !== null)
  if (hasGeopackage) await writeState(source, 'gpkg', item.geopackageFile, options)
  return {
    label: item.label,
    rows,
    columns: columns.map(({ name, typeText }) => ({ name, data_type: typeText })),
    hasGeopackage,
  }
}
