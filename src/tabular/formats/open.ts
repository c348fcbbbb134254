import { fileFault } from '../faults.js'
import type { FileChoices, RowFile } from '../row-file.js'
import { type ByteSource, plainBytes, unpackedBytes, wholeBytes } from './bytes.js'
import { openCsv } from './csv-rows.js'
import { openGeopackage } from './geopackage.js'
import { openGeojson, openLines } from './json-rows.js'
import { type ZipEntry, zipEntries } from './zip.js'

/** Endings of the files that can be read; `.gz` may follow, and they may be in a `.zip`. */
const FORMATS = {
  csv: /\.(?:csv|tsv|tab|txt)$/i,
  lines: /\.(?:ndjson|jsonl|geojsonl|geojsons|geojsonseq)$/i,
  geojson: /\.(?:geo)?json$/i,
  gpkg: /\.gpkg$/i,
} as const
const EXPECTED = '.csv, .tsv, .geojson, .ndjson or .gpkg, also as .gz or in a .zip'
/** Endings for the chooser of files. */
export const ACCEPTED_FILES =
  '.csv,.tsv,.txt,.geojson,.json,.ndjson,.jsonl,.geojsonl,.geojsons,.gpkg,.zip,.gz'

/**
 * Opens a file of rows by the ending of its name.
 *
 * @throws FileFault
 */
export async function openRowFile(file: Blob, name: string, choices: FileChoices = {}): Promise<RowFile> {
  if (/\.zip$/i.test(name)) return await openArchive(file, choices)
  const isGzip = /\.gz$/i.test(name)
  const bytes = isGzip ? unpackedBytes(file, 'gzip') : plainBytes(file)
  return await openBytes(bytes, isGzip ? undefined : file, name.replace(/\.gz$/i, ''), choices)
}

async function openArchive(file: Blob, choices: FileChoices): Promise<RowFile> {
  const entries = await zipEntries(file)
  const usable = entries.filter(({ name }) => Object.values(FORMATS).some((form) => form.test(name)))
  const chosen = usable.find(({ name }) => name === choices.entry) ?? largest(usable)
  if (chosen === undefined) {
    const names = entries.map(({ name }) => name)
    const shape = names.find((name) => /\.shp$/i.test(name))
    if (shape !== undefined) throw fileFault('SHAPEFILE', { name: shape })
    throw fileFault('NO_ENTRY', { found: names.slice(0, 5).join(', ') || 'none', expected: EXPECTED })
  }
  const { blob, isPacked, name } = chosen
  const bytes = isPacked ? unpackedBytes(blob, 'deflate-raw') : plainBytes(blob)
  const opened = await openBytes(bytes, isPacked ? undefined : blob, name, choices)
  return { ...opened, entry: name, entries: usable.map((each) => each.name) }
}

function largest(entries: readonly ZipEntry[]): ZipEntry | undefined {
  return [...entries].sort((a, b) => b.blob.size - a.blob.size)[0]
}

/** @param blob the same bytes where they can be read from any place */
async function openBytes(
  bytes: ByteSource,
  blob: Blob | undefined,
  name: string,
  choices: FileChoices,
): Promise<RowFile> {
  if (FORMATS.lines.test(name)) return await openLines(bytes)
  if (FORMATS.geojson.test(name)) return await openGeojson(bytes)
  if (FORMATS.gpkg.test(name))
    return await openGeopackage(blob ?? new Blob(await wholeBytes(bytes)), choices.layer)
  if (FORMATS.csv.test(name)) return await openCsv(bytes, choices, /\.(?:tsv|tab)$/i.test(name))
  if (/\.(?:shp|dbf|shx)$/i.test(name)) throw fileFault('SHAPEFILE', { name })
  throw fileFault('UNKNOWN_FORMAT', { name, expected: EXPECTED })
}
