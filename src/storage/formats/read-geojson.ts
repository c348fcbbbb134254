import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { withDoubles } from '../../json/exact-json.js'
import type { StateColumn } from '../columns/state-column.js'
import type { ImportFile } from './import-file.js'
import { badValue, isObject, parseJson, readDescription } from './read-description.js'

interface Feature {
  geometry: unknown
  properties: Readonly<Record<string, unknown>>
}

const COLLECTION = 'a GeoJSON FeatureCollection'

/**
 * Opens a GeoJSON FeatureCollection. A file with one Feature per line, as `cite export` writes it, is read
 * line by line in constant memory; any other file is read whole.
 *
 * @throws Error in one line when the file is no FeatureCollection or describes its columns wrongly
 */
export async function openGeojson(file: string): Promise<ImportFile> {
  const head = await firstLine(file)
  const isByLine = head.trimEnd().endsWith('"features":[')
  const collection = parseJson(isByLine ? `${head}]}` : await readFile(file, 'utf8'), file, COLLECTION)
  if (!isObject(collection)) throw badValue(file, collection, COLLECTION)
  const { citation, features } = collection
  if (!Array.isArray(features))
    throw badValue(`${file}, features`, features, 'the array of Features of a FeatureCollection')
  const description = readDescription(citation, `${file}, citation`)
  return {
    columns: description?.columns,
    keyColumns: description?.keyColumns ?? [],
    async *records(columns) {
      const place = columns.findIndex(({ srid }) => srid !== null)
      for await (const feature of isByLine ? featureLines(file) : listedFeatures(file, features))
        yield recordOf(columns, place, feature)
    },
    close: () => undefined,
  }
}

/** Types that keep numbers as supplied. */
const KEEPS_NUMBERS = /^(?:json|numeric)/

function recordOf(
  columns: readonly StateColumn[],
  place: number,
  { geometry, properties }: Feature,
): unknown[] {
  return columns.map(({ name, udtName }, at) => {
    if (at === place) return withDoubles(geometry)
    const value = Object.hasOwn(properties, name) ? properties[name] : null
    return KEEPS_NUMBERS.test(udtName) ? value : withDoubles(value)
  })
}

/** Checks a Feature; without a geometry or properties, those are null or empty. */
function featureOf(value: unknown, where: string): Feature {
  if (!isObject(value)) throw badValue(where, value, 'a Feature')
  const { type, geometry, properties } = value
  if (type !== 'Feature') throw badValue(`${where}, type`, type, '"Feature"')
  if (properties !== undefined && properties !== null && !isObject(properties))
    throw badValue(`${where}, properties`, properties, 'an object or null')
  return { geometry: geometry ?? null, properties: properties ?? {} }
}

function* listedFeatures(file: string, features: readonly unknown[]): Generator<Feature> {
  for (const [at, value] of features.entries()) yield featureOf(value, `${file}, features[${at}]`)
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

/** Yields the Features between the first line and the line that closes the collection. */
async function* featureLines(file: string): AsyncGenerator<Feature> {
  const lines = createInterface({ input: createReadStream(file, { encoding: 'utf8' }), crlfDelay: Infinity })
  let count = 0
  let isClosed = false
  for await (const line of lines) {
    count++
    const text = line.trim()
    if (count === 1 || text === '') continue
    const where = `${file}, line ${count}`
    if (isClosed) throw badValue(where, text, 'nothing after the end of the collection')
    if (text === ']}') isClosed = true
    else yield featureOf(parseJson(text.replace(/,$/, ''), where, 'one Feature'), where)
  }
  if (!isClosed) throw new Error(`${file}: found its end after line ${count}, expected a last line ]}`)
}
