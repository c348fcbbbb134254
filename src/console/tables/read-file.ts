/** Precedes each text of a GeoJSON text sequence. @see RFC 8142 */
const RECORD_SEPARATOR = '\u001e'

export interface Feature {
  type: 'Feature'
  geometry: unknown
  properties: Record<string, unknown> | null
}

/** Features of a file. */
export interface FileFeatures {
  readonly features: readonly Feature[]
  /** line of each feature, from 1; undefined for a FeatureCollection, whose features are not lines */
  readonly lines?: readonly number[]
}

/**
 * Reads the features of a GeoJSON, newline-delimited GeoJSON or CSV file.
 *
 * @throws Error with the line and the reason
 */
export function readFeatures(name: string, text: string): FileFeatures {
  if (/\.csv$/i.test(name)) return readCsv(text)
  if (/\.(ndjson|jsonl|geojsonl|geojsons)$/i.test(name)) return readLines(text)
  try {
    return { features: featuresOf(JSON.parse(text)) }
  } catch (error) {
    if (/^\s*\{.*\}\s*\n\s*\{/.test(text.slice(0, 100_000))) return readLines(text)
    throw error
  }
}

function featuresOf(json: unknown): Feature[] {
  const { type, features } = json as { type?: string; features?: Feature[] }
  if (type === 'FeatureCollection' && Array.isArray(features)) {
    for (const [at, feature] of features.entries()) checkFeature(feature, `record ${at + 1}`)
    return features
  }
  if (type === 'Feature') return [json as Feature]
  throw new Error(`found ${String(type)}, expected a FeatureCollection`)
}

function readLines(text: string): FileFeatures {
  const features: Feature[] = []
  const lines: number[] = []
  text.split('\n').forEach((raw, i) => {
    const line = (raw.startsWith(RECORD_SEPARATOR) ? raw.slice(1) : raw).trim()
    if (line === '') return
    try {
      features.push(JSON.parse(line))
    } catch (error) {
      throw new Error(`line ${i + 1}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      })
    }
    checkFeature(features.at(-1), `line ${i + 1}`)
    lines.push(i + 1)
  })
  return { features, lines }
}

/** @throws Error for anything but an object, whose members the gateway checks */
function checkFeature(value: unknown, place: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new Error(`${place}: found ${JSON.stringify(value).slice(0, 40)}, expected a Feature`)
}

/**
 * Reads CSV. The columns lng (lon, longitude, x) and lat (latitude, y) give the point; the others are
 * properties.
 */
function readCsv(text: string): FileFeatures {
  const [first, ...rows] = csvRows(text)
  if (first === undefined) throw new Error('found no lines, expected a line of column names')
  const head = first.cells
  const find = (names: RegExp) => head.findIndex((name) => names.test(name))
  const [lng, lat] = [find(/^(lng|lon|longitude|x)$/i), find(/^(lat|latitude|y)$/i)]
  const features = rows.map(({ cells, line }): Feature => {
    if (cells.length !== head.length)
      throw new Error(`line ${line}: found ${cells.length} cells, expected ${head.length}`)
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
  return { features, lines: rows.map(({ line }) => line) }
}

function numberOrText(cell: string): unknown {
  return /^-?(0|[1-9]\d{0,14})(\.\d+)?(e[+-]?\d+)?$/i.test(cell) ? Number(cell) : cell
}

interface CsvRow {
  cells: string[]
  /** of its first cell, from 1; a quoted cell may hold line breaks */
  line: number
}

/** Splits CSV into rows of cells. @see RFC 4180 */
function csvRows(text: string): CsvRow[] {
  const rows: CsvRow[] = []
  let row: string[] = []
  let line = 1
  let nextLine = 1
  for (const [whole, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    if (end === '' && row.length === 0 && quoted === undefined && plain === '') break
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    nextLine += whole.split('\n').length - 1
    if (end === ',') continue
    rows.push({ cells: row, line })
    row = []
    line = nextLine
  }
  return rows
}
