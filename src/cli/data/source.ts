import { closeSync, createReadStream, openSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isAppError, messageOf } from '../../errors.js'
import { readElements } from '../../tables/ingest/read-elements.js'
import { readLines } from '../../tables/ingest/read-lines.js'
import { scanFeatures } from '../../tables/ingest/scan-body.js'
import { createLineSplitter, type NumberedBatch } from '../../tables/ingest/split-lines.js'
import {
  BATCH_ROWS,
  type ByteSource,
  batched,
  type FeatureSource,
  type PlaceColumns,
} from './feature-source.js'
import { openCsvFeatures } from './source-csv.js'
import { openGeopackageFeatures } from './source-geopackage.js'

const LIMITS = { batchLines: BATCH_ROWS, batchBytes: 8 * 1024 * 1024, lineBytes: 256 * 1024 * 1024 }
/** Deepest nesting of a file, much more than GeoJSON needs. */
const MAX_DEPTH = 1000

/**
 * Opens a file by its extension; `.gz` may follow that of text formats with lines.
 *
 * @throws Error in one line when the extension is unknown or the file cannot be read
 */
export async function openFeatures(file: string, places: PlaceColumns): Promise<FeatureSource> {
  const name = file.toLowerCase().replace(/\.gz$/, '')
  const isGzip = file.toLowerCase().endsWith('.gz')
  if (/\.(?:ndjson|jsonl|geojsonl|geojsons|geojsonseq)$/.test(name)) return openLines(file, isGzip)
  if (/\.csv$/.test(name)) return await openCsvFeatures(textSource(file, isGzip), places)
  if (isGzip)
    throw new Error(
      `${file}: found gzip, expected it on .ndjson, .geojsonl, .jsonl or .csv only; decompress it first`,
    )
  if (/\.(?:geo)?json$/.test(name)) return openCollection(file)
  if (/\.gpkg$/.test(name)) return openGeopackageFeatures(file)
  throw new Error(
    `found the file name ${file}, expected .geojson, .json, .ndjson, .geojsonl, .jsonl, .csv or .gpkg`,
  )
}

/** Counts the bytes of the file, compressed or not, for the progress bar. */
function textSource(file: string, isGzip: boolean): ByteSource {
  const { size } = statSync(file)
  let readBytes = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      readBytes += (chunk as Uint8Array).byteLength
      yield chunk as Uint8Array
    }
  }
  async function* unpacked(): AsyncGenerator<Uint8Array> {
    const gunzip = createGunzip()
    const source = Readable.from(counted())
    source.on('error', (error) => gunzip.destroy(error))
    try {
      for await (const chunk of source.pipe(gunzip)) yield chunk as Uint8Array
    } catch (error) {
      throw new Error(`${file} is not a complete gzip file: ${messageOf(error)}`, { cause: error })
    }
  }
  return {
    file,
    chunks: () => (isGzip ? unpacked() : counted()),
    fraction: () => (size === 0 ? 1 : readBytes / size),
  }
}

/** Splits lines as the stream endpoint does. */
function openLines(file: string, isGzip: boolean): FeatureSource {
  const source = textSource(file, isGzip)
  async function* batches(): AsyncGenerator<unknown[]> {
    const splitter = createLineSplitter(LIMITS)
    for await (const chunk of source.chunks()) {
      for (const batch of splitter.push(chunk)) yield recordsOf(batch, file)
    }
    const last = splitter.end()
    if (last !== undefined) yield recordsOf(last, file)
  }
  return { batches, fraction: source.fraction, close: () => undefined }
}

/** Parses a batch; an error names the line of the file. */
function recordsOf(batch: NumberedBatch, file: string): unknown[] {
  try {
    return [...readLines(batch)]
  } catch (error) {
    if (!isAppError(error) || typeof error.data.line !== 'number') throw error
    const line = batch.firstLine + error.data.line
    throw new Error(`${file}, line ${line}: ${error.message}`, { cause: error })
  }
}

/** Opens a FeatureCollection of any size: its features are located first, then read one by one. */
function openCollection(file: string): FeatureSource {
  const { size } = statSync(file)
  const handle = openSync(file, 'r')
  let offset = 0
  async function* batches(): AsyncGenerator<unknown[]> {
    const place = scanFeatures(handle, MAX_DEPTH)
    if (place === undefined) throw new Error(`${file} is not a GeoJSON FeatureCollection`)
    const onRead = (read: number) => {
      offset = read
    }
    yield* batched(readElements(handle, place.start, place.end, { onRead }))
  }
  return { batches, fraction: () => (size === 0 ? 1 : offset / size), close: () => closeSync(handle) }
}
