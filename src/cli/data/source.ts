import { closeSync, createReadStream, openAsBlob, openSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isAppError, messageOf } from '../../errors.js'
import { readElements } from '../../tables/ingest/read-elements.js'
import { readLines } from '../../tables/ingest/read-lines.js'
import { scanFeatures } from '../../tables/ingest/scan-body.js'
import { createLineSplitter, type NumberedBatch } from '../../tables/ingest/split-lines.js'
import { openRowFile } from '../../tabular/formats/open.js'
import type { FileChoices } from '../../tabular/row-file.js'
import { BATCH_ROWS, batched, type FeatureSource, rowOf } from './feature-source.js'
import { openGeopackageFeatures } from './source-geopackage.js'

const LIMITS = { batchLines: BATCH_ROWS, batchBytes: 8 * 1024 * 1024, lineBytes: 256 * 1024 * 1024 }
/** Deepest nesting of a file, much more than GeoJSON needs. */
const MAX_DEPTH = 1000

/**
 * Opens a file by its extension; `.gz` may follow that of text formats with lines.
 *
 * @throws Error in one line when the extension is unknown or the file cannot be read
 */
export async function openFeatures(file: string, choices: FileChoices): Promise<FeatureSource> {
  const name = file.toLowerCase().replace(/\.gz$/, '')
  const isGzip = file.toLowerCase().endsWith('.gz')
  if (/\.(?:ndjson|jsonl|geojsonl|geojsons|geojsonseq)$/.test(name)) return openLines(file, isGzip)
  if (/\.(?:csv|tsv|tab|txt)$/.test(name) || (/\.zip$/.test(name) && !isGzip)) {
    if (statSync(file).isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' })
    const opened = await openRowFile(await openAsBlob(file), file, choices)
    return { ...opened, close: () => undefined }
  }
  if (isGzip)
    throw new Error(
      `${file}: found gzip, expected it on .ndjson, .geojsonl, .jsonl or .csv only; decompress it first`,
    )
  if (/\.(?:geo)?json$/.test(name)) return openCollection(file)
  if (/\.gpkg$/.test(name)) return openGeopackageFeatures(file)
  throw new Error(
    `found the file name ${file}, expected .geojson, .json, .ndjson, .geojsonl, .jsonl, .csv, .tsv, .gpkg or .zip`,
  )
}

/** Chunks of a file, unpacked where it is packed. @param onRead called with the share of the file that has been read */
async function* chunksOf(
  file: string,
  isGzip: boolean,
  onRead: (share: number) => void,
): AsyncGenerator<Uint8Array> {
  const { size } = statSync(file)
  let readBytes = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      readBytes += (chunk as Uint8Array).byteLength
      onRead(readBytes / size)
      yield chunk as Uint8Array
    }
  }
  if (!isGzip) {
    yield* counted()
    return
  }
  const gunzip = createGunzip()
  const source = Readable.from(counted())
  source.on('error', (error) => gunzip.destroy(error))
  try {
    for await (const chunk of source.pipe(gunzip)) yield chunk as Uint8Array
  } catch (error) {
    throw new Error(`${file} is not a complete gzip file: ${messageOf(error)}`, { cause: error })
  }
}

/** Splits lines as the stream endpoint does. */
function openLines(file: string, isGzip: boolean): FeatureSource {
  statSync(file) // a missing file is reported before anything is opened
  return {
    ...{ format: 'lines', places: 'records', close: () => undefined },
    async *batches(onRead = () => undefined) {
      const splitter = createLineSplitter(LIMITS)
      let place = 0
      const rowsOf = (batch: NumberedBatch) => recordsOf(batch, file).map((one) => rowOf(one, ++place))
      for await (const chunk of chunksOf(file, isGzip, onRead)) {
        for (const batch of splitter.push(chunk)) yield rowsOf(batch)
      }
      const last = splitter.end()
      if (last !== undefined) yield rowsOf(last)
    },
  }
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
  return {
    ...{ format: 'geojson', places: 'records', close: () => closeSync(handle) },
    async *batches(onRead = () => undefined) {
      const place = scanFeatures(handle, MAX_DEPTH)
      if (place === undefined) throw new Error(`${file} is not a GeoJSON FeatureCollection`)
      const onBytes = (read: number) => onRead(size === 0 ? 1 : read / size)
      yield* batched(readElements(handle, place.start, place.end, { onRead: onBytes }))
    },
  }
}
