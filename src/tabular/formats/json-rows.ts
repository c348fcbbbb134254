import { decoded } from '../encoding.js'
import { fileFault } from '../faults.js'
import { BATCH_ROWS, type FileRow, type RowFile } from '../row-file.js'
import { type ByteSource, wholeBytes } from './bytes.js'
import { encodingOf } from './csv-rows.js'

/** Precedes each text of a GeoJSON text sequence. @see RFC 8142 */
const RECORD_SEPARATOR = '\u001e'
/** Longest line. */
const MAX_LINE_CHARS = 64 * 1024 * 1024

/** Opens text of one Feature or object a line. */
export async function openLines(source: ByteSource): Promise<RowFile> {
  const encoding = await encodingOf(source)
  return {
    ...{ format: 'lines', places: 'lines', encoding },
    batches: (onRead) => rowsOfLines(decoded(source.chunks(onRead), encoding)),
  }
}

async function* rowsOfLines(texts: AsyncIterable<string>): AsyncGenerator<FileRow[]> {
  let rest = ''
  let line = 0
  let batch: FileRow[] = []
  const take = (raw: string) => {
    line++
    const text = (raw.startsWith(RECORD_SEPARATOR) ? raw.slice(1) : raw).trim()
    if (text !== '') batch.push(rowOf(parsed(text, `line ${line}`), line, `line ${line}`))
  }
  for await (const text of texts) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_CHARS) throw fileFault('LONG_ROW', { line: line + 1, limit: MAX_LINE_CHARS })
    for (const each of lines) take(each)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  take(rest)
  if (batch.length > 0) yield batch
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw fileFault('BAD_JSON', { place, reason: error instanceof Error ? error.message : String(error) })
  }
}

/**
 * Opens a FeatureCollection, a Feature or an array of objects; text of one object a line is recognized.
 *
 * @throws FileFault
 */
export async function openGeojson(source: ByteSource): Promise<RowFile> {
  const encoding = await encodingOf(source)
  if (await isLines(source)) return await openLines(source)
  async function* batches(onRead?: (share: number) => void): AsyncGenerator<FileRow[]> {
    const parts = await wholeBytes(source, onRead)
    async function* chunks() {
      yield* parts
    }
    let text = ''
    for await (const part of decoded(chunks(), encoding)) text += part
    parts.length = 0
    const items = itemsOf(parsed(text, 'the file'))
    for (let from = 0; from < items.length; from += BATCH_ROWS)
      yield items
        .slice(from, from + BATCH_ROWS)
        .map((item, at) => rowOf(item, from + at + 1, `record ${from + at + 1}`))
  }
  return { format: 'geojson', places: 'records', encoding, batches }
}

/** True when the first line is an object of its own, and another one follows. */
async function isLines(source: ByteSource): Promise<boolean> {
  for await (const text of decoded(source.chunks(), await encodingOf(source)))
    return /^\s*\{.*\}[ \t]*\r?\n\s*\{/.test(text)
  return false
}

function itemsOf(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json
  if (isObject(json) && json.type === 'FeatureCollection' && Array.isArray(json.features))
    return json.features
  if (isObject(json) && json.type === 'Feature') return [json]
  const found = isObject(json) ? `an object with the type ${JSON.stringify(json.type)}` : typeof json
  throw fileFault('NOT_COLLECTION', { found })
}

/** Row of a Feature, or of a plain object. @throws FileFault NOT_FEATURE */
function rowOf(json: unknown, place: number, where: string): FileRow {
  if (!isObject(json))
    throw fileFault('NOT_FEATURE', { place: where, found: JSON.stringify(json).slice(0, 40) })
  if (json.type !== 'Feature') return { place, values: json }
  const { properties = null, geometry = null } = json
  if (properties !== null && !isObject(properties))
    throw fileFault('NOT_FEATURE', { place: where, found: 'properties that are no object' })
  return { place, values: properties ?? {}, geometry }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
