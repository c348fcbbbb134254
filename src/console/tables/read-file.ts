import { t } from '../core/i18n.js'

/** RFC 8142 begins each text with it. */
const RECORD_SEPARATOR = '\u001e'

export interface Feature {
  type: 'Feature'
  geometry: unknown
  properties: Record<string, unknown>
}

/** Features of a GeoJSON, newline-delimited GeoJSON or CSV file. @throws Error that says what is wrong, and where */
export function readFeatures(name: string, text: string): Feature[] {
  if (/\.csv$/i.test(name)) return readCsv(text)
  if (/\.(ndjson|jsonl|geojsonl|geojsons)$/i.test(name)) return readLines(text)
  try {
    return featuresOf(JSON.parse(text))
  } catch (error) {
    if (/^\s*\{.*\}\s*\n\s*\{/.test(text.slice(0, 100_000))) return readLines(text)
    throw bad(error instanceof Error ? error.message : String(error))
  }
}

function featuresOf(json: unknown): Feature[] {
  const { type, features } = json as { type?: string; features?: Feature[] }
  if (type === 'FeatureCollection' && Array.isArray(features)) return features
  if (type === 'Feature') return [json as Feature]
  throw new Error(`found ${String(type)}, expected a FeatureCollection`)
}

function readLines(text: string): Feature[] {
  return text
    .split('\n')
    .map((line) => (line.startsWith(RECORD_SEPARATOR) ? line.slice(1) : line).trim())
    .flatMap((line, i) => {
      if (line === '') return []
      try {
        return [JSON.parse(line) as Feature]
      } catch (error) {
        throw bad(`line ${i + 1}: ${error instanceof Error ? error.message : String(error)}`)
      }
    })
}

/** Columns lng (lon, longitude, x) and lat (latitude, y) make the point; the others are properties. */
function readCsv(text: string): Feature[] {
  const [head, ...rows] = csvRows(text)
  if (head === undefined) throw bad('no lines')
  const find = (names: RegExp) => head.findIndex((name) => names.test(name))
  const [lng, lat] = [find(/^(lng|lon|longitude|x)$/i), find(/^(lat|latitude|y)$/i)]
  return rows.map((cells, i) => {
    if (cells.length !== head.length)
      throw bad(`line ${i + 2}: ${cells.length} cells, expected ${head.length}`)
    const properties: Record<string, unknown> = {}
    head.forEach((name, at) => {
      const cell = cells[at] ?? ''
      if (at !== lng && at !== lat) properties[name] = cell === '' ? null : numberOrText(cell)
    })
    const point = lng < 0 || lat < 0 ? null : [Number(cells[lng]), Number(cells[lat])]
    return {
      type: 'Feature',
      geometry: point === null ? null : { type: 'Point', coordinates: point },
      properties,
    }
  })
}

function numberOrText(cell: string): unknown {
  return /^-?(0|[1-9]\d{0,14})(\.\d+)?(e[+-]?\d+)?$/i.test(cell) ? Number(cell) : cell
}

/** RFC 4180. */
function csvRows(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    if (end === '' && row.length === 0 && quoted === undefined && plain === '') break
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

function bad(reason: string): Error {
  return new Error(t('badFile', { reason }))
}
