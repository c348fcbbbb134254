import type { FileRow, RowFile } from '../../tabular/row-file.js'

/** A row of a file; formats of Features keep it as it is. */
export interface SourceRow extends FileRow {
  readonly feature?: unknown
}

/** A file of features. */
export interface FeatureSource
  extends Pick<RowFile, 'format' | 'places' | 'separator' | 'encoding' | 'entry'> {
  /** Reads batches of at most `BATCH_ROWS`, from the beginning; memory use does not depend on the size of the file. */
  batches(onRead?: (share: number) => void): AsyncGenerator<SourceRow[]>
  close(): void
}

/** Columns of a CSV file that hold the location; undefined where the usual names are searched for. */
export interface PlaceFlags {
  lng?: string
  lat?: string
  geometry?: string
}

/** Records of one transaction of an import. */
export const BATCH_ROWS = 5000

/** Groups features into batches of rows. */
export async function* batched(
  items: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<SourceRow[]> {
  let batch: SourceRow[] = []
  let place = 0
  for await (const item of items) {
    batch.push(rowOf(item, ++place))
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Row of a Feature; one of anything else is refused when it is stored. @param place number of the record, from 1 */
export function rowOf(feature: unknown, place: number): SourceRow {
  if (typeof feature !== 'object' || feature === null) return { place, values: {}, geometry: null, feature }
  const { geometry = null, properties }: { geometry?: unknown; properties?: unknown } = feature
  const isObject = typeof properties === 'object' && properties !== null
  return { place, values: isObject ? (properties as Record<string, unknown>) : {}, geometry, feature }
}
