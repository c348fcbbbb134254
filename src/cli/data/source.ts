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
/** Nesting that a file may have: geometries of geometries stop long before. */
const MAX_DEPTH = 1000

/**
 * Opens a file by the end of its name; text formats may end with `.gz` besides.
 *
 * @throws Error in one line when the name or the file does not fit
 */
export async function openFeatures(file: string, places: PlaceColumns): Promise<FeatureSource> {
  const name = file.toLowerCase().replace(/\.gz$/, '')
  const isGzip = file.toLowerCase().endsWith('.gz')
  if (/\.(?:ndjson|jsonl|geojsonl|geojsons|geojsonseq)$/.test(name)) return openLines(file, isGzip)
  if (/\.csv$/.test(name)) return await openCsvFeatures(textSource(file, isGzip), places)
  if (isGzip) throw new Error(`${file}: gzip is read of .ndjson, .geojsonl, .jsonl and .csv; unpack it first`)
  if (/\.(?:geo)?json$/.test(name)) return openCollection(file)
  if (/\.gpkg$/.test(name)) return openGeopackageFeatures(file)
  throw new Error(
    `found the file name ${file}, expected .geojson, .json, .ndjson, .geojsonl, .jsonl, .csv or .gpkg`,
  )
}

/** Counts packed bytes: their share of the file is what the bar can know. */
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
      throw new Error(`${file} is no whole gzip file: ${messageOf(error)}`, { cause: error })
    }
  }
  return {
    file,
    chunks: () => (isGzip ? unpacked() : counted()),
    fraction: () => (size === 0 ? 1 : readBytes / size),
  }
}

/** Cut into batches by the same code as the stream endpoint's bodies. */
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

/** A fault names the line as it is counted in the file. */
function recordsOf(batch: NumberedBatch, file: string): unknown[] {
  try {
    return [...readLines(batch)]
  } catch (error) {
    if (!isAppError(error) || typeof error.data.line !== 'number') throw error
    const line = batch.firstLine + error.data.line
    throw new Error(`${file}, line ${line}: ${error.message}`, { cause: error })
  }
}

/** A FeatureCollection of any size: its features are found first, and then read one by one. */
function openCollection(file: string): FeatureSource {
  const { size } = statSync(file)
  const handle = openSync(file, 'r')
  let offset = 0
  async function* batches(): AsyncGenerator<unknown[]> {
    const place = scanFeatures(handle, MAX_DEPTH)
    if (place === undefined) throw new Error(`${file} is no GeoJSON FeatureCollection`)
    const onRead = (read: number) => {
      offset = read
    }
    yield* batched(readElements(handle, place.start, place.end, onRead))
  }
  return { batches, fraction: () => (size === 0 ? 1 : offset / size), close: () => closeSync(handle) }
}
