import type { RowStates } from '../storage/datasets/citations.js'
import { unknownDataset } from '../storage/datasets/datasets.js'
import { writeState } from '../storage/formats/export.js'
import type { Keyring } from '../storage/keyring.js'

/** Records to hand to a run. Plain data: another thread writes the files. */
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
  /** written only for records with geometry */
  readonly geopackageFile: string
}

/** Files that were written for an input. */
export interface ExportedInput {
  readonly label: string
  readonly rows: number
  readonly columns: readonly { name: string; data_type: string }[]
  readonly hasGeopackage: boolean
}

interface ExportDeps {
  /** one snapshot for all inputs of a run */
  readonly states: RowStates
  readonly keyring: Pick<Keyring, 'read'>
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** µs UTC */
  readonly nowUs: number
  /** reads the bytes of a stored file by its digest */
  readFile(digest: string): Promise<Uint8Array>
  /** called after each page. @throws AppError CANCELLED, DISK_FULL */
  onRows(): void
}

/**
 * Writes the inputs of a run: CSV, and GeoPackage for records with geometry.
 *
 * @throws AppError UNKNOWN_DATASET, BAD_CONDITION, CANCELLED
 */
export async function exportInputs(items: readonly ExportItem[], deps: ExportDeps): Promise<ExportedInput[]> {
  const exported: ExportedInput[] = []
  for (const item of items) exported.push(await exportInput(item, deps))
  return exported
}

async function exportInput(item: ExportItem, deps: ExportDeps): Promise<ExportedInput> {
  const { states, timeZoneMin, nowUs, keyring, readFile, onRows } = deps
  const source = await states.find(item.name, nowUs)
  if (source === undefined) throw unknownDataset(item.name)
  const at = `$.input.${item.label}`
  const options = {
    keyring,
    readFile,
    onRows,
    env: { timeZoneMin, nowUs: BigInt(nowUs) },
    query: item.query,
    paths: { conds: `${at}.query`, order: `${at}.order`, columns: at },
  }
  const rows = await writeState(source, 'csv', item.csvFile, options)
  const { columns } = source
  const hasGeopackage = columns.some(({ srid }) => srid !== null)
  if (hasGeopackage) await writeState(source, 'gpkg', item.geopackageFile, options)
  return {
    label: item.label,
    rows,
    columns: columns.map(({ name, typeText }) => ({ name, data_type: typeText })),
    hasGeopackage,
  }
}
