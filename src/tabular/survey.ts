import { type ColumnFacts, createColumnCollector } from './columns.js'
import { createKeyCounter, type KeyCount } from './key-counter.js'
import type { ImportPlan } from './plan.js'
import { type FileRecord, recordOf } from './record.js'
import type { FileRow, RowFile } from './row-file.js'

/** Rows that are kept to be shown. */
const SAMPLE_ROWS = 20
/** Records that are kept for a small map. */
const MAP_RECORDS = 2000

/** Content of a file. */
export interface FileSurvey {
  readonly rowCount: number
  readonly columns: readonly ColumnFacts[]
  /** rows have a geometry beside their columns */
  readonly hasGeometry: boolean
  readonly sample: readonly FileRow[]
}

/** Work that can be watched and ended. */
export interface Watched {
  /** keys that are remembered of each column and each key */
  readonly maxKeys?: number
  readonly signal?: AbortSignal
  /** @param share of the file that has been read, 0 to 1 */
  onRead?(share: number): void
  /** lets others have a turn, between two batches */
  pause?(): Promise<void>
}

/** Reads a whole file once and finds its columns. @throws FileFault, or the reason of the signal */
export async function surveyFile(file: RowFile, watched: Watched = {}): Promise<FileSurvey> {
  const hasComma = file.format === 'csv' && file.separator !== 'comma'
  const collector = createColumnCollector(hasComma, watched.maxKeys)
  const sample: FileRow[] = []
  let hasGeometry = false
  for await (const rows of watch(file, watched)) {
    collector.add(rows)
    if (sample.length < SAMPLE_ROWS) sample.push(...rows.slice(0, SAMPLE_ROWS - sample.length))
    hasGeometry ||= rows.some(({ geometry }) => geometry !== undefined && geometry !== null)
  }
  return { rowCount: collector.rowCount(), columns: collector.columns(), hasGeometry, sample }
}

/** Nature of the records of a file. */
export interface RecordSurvey {
  readonly keys: readonly KeyCount[]
  /** records without a place */
  readonly nowhere: number
  /** points outside ±180 and ±90 degrees, or that are no numbers */
  readonly badPlaces: { readonly count: number; readonly place: number; readonly text: string } | undefined
  /** west, south, east, north of the records that are kept */
  readonly bbox: readonly [number, number, number, number] | undefined
  /** records with a place, some from every part of the file */
  readonly mapped: readonly FileRecord[]
}

/** Reads a whole file once, counts what its keys share, and looks at its places. */
export async function surveyRecords(
  file: RowFile,
  plan: ImportPlan,
  keys: readonly (readonly string[])[],
  watched: Watched = {},
): Promise<RecordSurvey> {
  const counters = keys.map((columns) => createKeyCounter(columns, watched.maxKeys))
  const places = createPlaces()
  for await (const rows of watch(file, watched)) {
    for (const row of rows) {
      const record = recordOf(plan, row)
      for (const counter of counters) counter.add(record, row.place)
      places.add(record, row.place)
    }
  }
  return { keys: counters.map((counter) => counter.count()), ...places.found() }
}

async function* watch(file: RowFile, { signal, onRead, pause }: Watched): AsyncGenerator<FileRow[]> {
  for await (const rows of file.batches(onRead)) {
    signal?.throwIfAborted()
    yield rows
    await pause?.()
  }
}

function createPlaces() {
  let [nowhere, badCount, step, seen] = [0, 0, 1, 0]
  let bad: { place: number; text: string } | undefined
  let mapped: FileRecord[] = []
  return {
    add(record: FileRecord, place: number) {
      const { geometry } = record
      if (geometry === null || geometry === undefined) {
        nowhere++
        return
      }
      if (!isOnEarth(geometry)) {
        badCount++
        bad ??= { place, text: JSON.stringify(geometry).slice(0, 80) }
        return
      }
      if (seen++ % step !== 0) return
      mapped.push(record)
      if (mapped.length < MAP_RECORDS) return
      mapped = mapped.filter((_, at) => at % 2 === 0)
      step *= 2
    },
    found: () => ({
      nowhere,
      badPlaces: bad === undefined ? undefined : { ...bad, count: badCount },
      bbox: boundsOf(mapped),
      mapped,
    }),
  }
}

function isOnEarth(geometry: unknown): boolean {
  let isFine = typeof geometry === 'object' && geometry !== null && 'type' in geometry
  visitPositions(geometry, (lng, lat) => {
    if (!(Math.abs(lng) <= 180 && Math.abs(lat) <= 90)) isFine = false
  })
  return isFine
}

/** West, south, east, north of records; undefined when none has a position. */
export function boundsOf(
  records: readonly FileRecord[],
): readonly [number, number, number, number] | undefined {
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const { geometry } of records)
    visitPositions(geometry, (lng, lat) => {
      box[0] = Math.min(box[0], lng)
      box[1] = Math.min(box[1], lat)
      box[2] = Math.max(box[2], lng)
      box[3] = Math.max(box[3], lat)
    })
  return box[0] <= box[2] ? box : undefined
}

/** Calls `visit` with each position of a GeoJSON geometry; NaN where one has no numbers. */
function visitPositions(geometry: unknown, visit: (lng: number, lat: number) => void): void {
  if (typeof geometry !== 'object' || geometry === null) return
  const { coordinates, geometries }: { coordinates?: unknown; geometries?: unknown } = geometry
  if (Array.isArray(geometries)) for (const each of geometries) visitPositions(each, visit)
  if (Array.isArray(coordinates)) visitCoordinates(coordinates, visit)
}

function visitCoordinates(coordinates: readonly unknown[], visit: (lng: number, lat: number) => void): void {
  if (coordinates.length === 0) return
  if (Array.isArray(coordinates[0])) {
    for (const each of coordinates) if (Array.isArray(each)) visitCoordinates(each, visit)
    return
  }
  const [lng, lat] = coordinates
  visit(typeof lng === 'number' ? lng : Number.NaN, typeof lat === 'number' ? lat : Number.NaN)
}
