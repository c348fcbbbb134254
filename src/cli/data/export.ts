import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { boxPolygon } from '../../geo/bbox.js'
import { prepareArea } from '../../geo/prepared-area.js'
import type { Bbox } from '../../geo/types.js'
import { candidates } from '../../messages/candidates.js'
import { syncedRename } from '../../storage/formats/synced-rename.js'
import type { LoaderTable, TableQuery, TableRow } from '../../storage/tables.js'
import { checkFolder } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { type LongWork, withProgress } from '../with-progress.js'
import { csvLines } from './export-csv.js'
import { writeTableGeopackage } from './export-geopackage.js'
import { partNameOf, type TableData, withTableData } from './table-data.js'

export const EXPORT_FORMATS = ['geojson', 'ndjson', 'csv', 'gpkg'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportFlags extends GlobalOptions {
  table: string
  output: string
  format?: string
  conds?: string
  bbox?: string
}

const FORMAT_OF_EXTENSION: Record<string, ExportFormat> = {
  '.geojson': 'geojson',
  '.json': 'geojson',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.geojsonl': 'ndjson',
  '.csv': 'csv',
  '.gpkg': 'gpkg',
}

/** Runs `data export`. The file appears whole or not at all; memory does not grow with the table. */
export async function runDataExport(flags: ExportFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const output = path.resolve(deps.cwd, flags.output)
  const format = formatOf(flags)
  const query = queryOf(flags)
  checkFolder(output)
  const temp = partNameOf(output)
  let rows = 0
  const exportTable = async ({ progress, signal }: LongWork) => {
    await withTableData(flags, deps, async (tables) => {
      const table = await requireTable(tables, flags.table)
      const total = await tables.reader.count(table, {})
      const onRows = (count: number) => {
        rows += count
        progress.show(rows / total, `${group(rows)} records`, rows)
      }
      await write(tables, table, { format, file: temp, query, onRows, signal })
    })
    await syncedRename(temp, output)
  }
  await withProgress(io, deps, exportTable, 'stopped; nothing was written').finally(() =>
    rm(temp, { force: true }),
  )
  if (flags.json === true) printJson(io, { table: flags.table, format, output, rows })
  else io.stdout.write(`${group(rows)} records of ${flags.table} are in ${output}\n`)
}

async function requireTable({ reader }: TableData, name: string): Promise<LoaderTable> {
  const table = await reader.find(name)
  if (table !== undefined) return table
  const known = (await reader.list()).map(({ dataName }) => dataName)
  throw new Error(`no table is named ${name}, expected one of ${candidates(known, name)}`)
}

/** File to write, and the rows of it. */
interface ExportTarget {
  format: ExportFormat
  file: string
  query: TableQuery
  /** Called with the number of rows of each page. */
  onRows(count: number): void
  signal: AbortSignal
}

/** Writes the file. Pages are counted as they are written, so that the progress bar is right. */
async function write(
  tables: TableData,
  table: LoaderTable,
  { format, file, query, onRows, signal }: ExportTarget,
): Promise<void> {
  const paths = { conds: '--conds', order: '--order', columns: '--columns' }
  async function* pages(): AsyncGenerator<TableRow[]> {
    for await (const page of tables.reader.pages(table, query, signal, paths)) {
      onRows(page.length)
      yield page
    }
  }
  if (format === 'gpkg') return await writeTableGeopackage(file, table, pages(), tables)
  await pipeline(Readable.from(chunksOf(format, table, pages())), createWriteStream(file, { flags: 'wx' }))
}

function chunksOf(
  format: Exclude<ExportFormat, 'gpkg'>,
  table: LoaderTable,
  pages: AsyncIterable<TableRow[]>,
): AsyncIterable<string> {
  if (format === 'csv') return csvLines(table, pages)
  return format === 'ndjson' ? featureLines(pages) : collection(pages)
}

async function* featureLines(pages: AsyncIterable<TableRow[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((row) => `${featureText(row)}\n`).join('')
}

/** Yields a FeatureCollection with one Feature per line, so that other programs can read it line by line. */
async function* collection(pages: AsyncIterable<TableRow[]>): AsyncGenerator<string> {
  let before = '{"type":"FeatureCollection","features":[\n'
  for await (const page of pages) {
    yield before + page.map(featureText).join(',\n')
    before = ',\n'
  }
  yield before === ',\n' ? '\n]}\n' : `${before}]}\n`
}

function featureText({ geometry, properties }: TableRow): string {
  return JSON.stringify({ type: 'Feature', geometry, properties })
}

function formatOf({ format, output }: ExportFlags): ExportFormat {
  const found = format ?? FORMAT_OF_EXTENSION[path.extname(output).toLowerCase()]
  const known = EXPORT_FORMATS.find((name) => name === found)
  if (known !== undefined) return known
  if (format !== undefined)
    throw usageError(`--format: found ${format}, expected one of ${EXPORT_FORMATS.join(', ')}`)
  throw usageError(
    `--output: found ${output}, expected a name that ends with .geojson, .ndjson, .csv or .gpkg, or --format`,
  )
}

function queryOf({ conds, bbox }: ExportFlags): TableQuery {
  const query: TableQuery = {}
  if (conds !== undefined) query.conds = readConds(conds)
  if (bbox !== undefined) query.area = prepareArea(boxPolygon(readBox(bbox)))
  return query
}

function readConds(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AggregateError(
      [error],
      `--conds: found ${text.slice(0, 60)}, expected JSON like {"=": ["column", 5]}`,
    )
  }
}

function readBox(text: string): Bbox {
  const numbers = text.split(',').map(Number)
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = numbers
  if (numbers.length !== 4 || !(west <= east) || !(south <= north))
    throw usageError(`--bbox: found ${text}, expected west,south,east,north in degrees`)
  return [west, south, east, north]
}
