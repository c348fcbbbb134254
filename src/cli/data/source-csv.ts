import { csvRows, type Field } from '../../storage/formats/read-csv.js'
import { type ByteSource, batched, type FeatureSource, type PlaceColumns } from './feature-source.js'

const LNG_NAMES = ['lng', 'lon', 'long', 'longitude', 'x']
const LAT_NAMES = ['lat', 'latitude', 'y']
const GEOMETRY_NAMES = ['location', 'geometry', 'geom', 'the_geom', 'wkt', 'wkb', 'geojson']

/**
 * Opens a CSV file with a line of names. An empty field is null, `""` is empty text. The geometry comes from
 * a geometry column, else from longitude and latitude, else it is null; these columns are not properties.
 *
 * @throws Error in one line when a named column does not exist
 */
export async function openCsvFeatures(source: ByteSource, places: PlaceColumns): Promise<FeatureSource> {
  const rows = csvRows(textOf(source.chunks()))
  const head = await rows.next()
  if (head.done === true) throw new Error(`${source.file} is empty, expected a line of column names`)
  const names = head.value.map((name) => name ?? '')
  const toFeature = readerOf(source.file, names, places)
  async function* features(): AsyncGenerator<unknown> {
    let line = 1
    for await (const row of rows) {
      line++
      if (row.length === 1 && row[0] === null && names.length > 1) continue // a blank line
      if (row.length !== names.length)
        throw new Error(
          `${source.file}, record ${line}: found ${row.length} values, expected ${names.length}`,
        )
      yield toFeature(row)
    }
  }
  return {
    batches: () => batched(features()),
    fraction: source.fraction,
    close: () => void rows.return(undefined),
  }
}

type ToFeature = (row: readonly Field[]) => unknown

/** Finds the columns once; columns that the caller names take precedence over the usual names. */
function readerOf(file: string, names: readonly string[], places: PlaceColumns): ToFeature {
  const find = (named: string | undefined, usual: readonly string[]) => {
    const at =
      named === undefined
        ? names.findIndex((name) => usual.includes(name.toLowerCase()))
        : names.indexOf(named)
    if (named !== undefined && at === -1)
      throw new Error(
        `${file} has no column ${JSON.stringify(named)}, found ${names.slice(0, 20).join(', ')}`,
      )
    return at
  }
  const isByDegrees = places.lng !== undefined || places.lat !== undefined
  const geometry = isByDegrees && places.geometry === undefined ? -1 : find(places.geometry, GEOMETRY_NAMES)
  const lng = geometry === -1 ? find(places.lng, LNG_NAMES) : -1
  const lat = geometry === -1 ? find(places.lat, LAT_NAMES) : -1
  const hasDegrees = lng !== -1 && lat !== -1
  const used = new Set(hasDegrees ? [lng, lat] : geometry === -1 ? [] : [geometry])
  const properties = names.map((name, at): [string, number] => [name, at]).filter(([, at]) => !used.has(at))
  return (row) => ({
    type: 'Feature',
    geometry: hasDegrees ? pointOf(row[lng] ?? null, row[lat] ?? null) : (row[geometry] ?? null),
    properties: Object.fromEntries(properties.map(([name, at]) => [name, row[at] ?? null])),
  })
}

/** Makes a point. Text that is not a number stays text, so that the check of the record reports it. */
function pointOf(lng: Field, lat: Field): unknown {
  if (lng === null && lat === null) return null
  return { type: 'Point', coordinates: [numberOf(lng), numberOf(lat)] }
}

function numberOf(text: Field): unknown {
  return text === null || text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}

async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}
