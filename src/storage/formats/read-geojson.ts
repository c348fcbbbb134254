import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { StateColumn } from '../columns/state-column.js'
import { type ColumnText, type ImportFile, parseColumns } from './import-file.js'

interface Feature {
  geometry: unknown
  properties: Record<string, unknown> | null
}

interface Head {
  citation?: {
    columns: ColumnText[]
    key_columns: string[]
  }
}

/**
 * Opens a GeoJSON FeatureCollection. A file with one Feature per line, as `cite export` writes it, is read
 * line by line in constant memory; any other file is read whole.
 *
 * @throws Error when the file is no FeatureCollection
 */
export async function openGeojson(file: string): Promise<ImportFile> {
  const head = await firstLine(file)
  const isByLine = head.trimEnd().endsWith('"features":[')
  const collection: Head & { features?: Feature[] } = isByLine
    ? (JSON.parse(`${head}]}`) as Head)
    : (JSON.parse(await readFile(file, 'utf8')) as Head)
  if (!isByLine && !Array.isArray(collection.features))
    throw new Error(`${file} is not a GeoJSON FeatureCollection`)
  const { citation } = collection
  return {
    columns: citation === undefined ? undefined : parseColumns(citation.columns),
    keyColumns: citation?.key_columns ?? [],
    async *records(columns) {
      const place = columns.findIndex(({ srid }) => srid !== null)
      // no test: a collection without features is refused above
      const features = isByLine ? featureLines(file) : (collection.features ?? [])
      for await (const feature of features) yield recordOf(columns, place, feature)
    },
    close: () => undefined,
  }
}

function recordOf(
  columns: readonly StateColumn[],
  place: number,
  { geometry, properties }: Feature,
): unknown[] {
  return columns.map(({ name }, at) => {
    if (at === place) return geometry ?? null
    return properties !== null && Object.hasOwn(properties, name) ? properties[name] : null
  })
}

async function firstLine(file: string): Promise<string> {
  const lines = createInterface({ input: createReadStream(file, { encoding: 'utf8', end: 1_000_000 }) })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
  }
}

async function* featureLines(file: string): AsyncGenerator<Feature> {
  const lines = createInterface({ input: createReadStream(file, { encoding: 'utf8' }), crlfDelay: Infinity })
  let isHead = true
  for await (const line of lines) {
    const text = line.trim().replace(/,$/, '')
    if (!isHead && text !== ']}' && text !== '') yield JSON.parse(text) as Feature
    isHead = false
  }
}
