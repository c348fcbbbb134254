/** A file of features. */
export interface FeatureSource {
  /**
   * GeoJSON Features in batches of at most `BATCH_ROWS`; memory use does not depend on the size of the file
   */
  batches(): AsyncIterable<unknown[]>
  /** share of the file that has been read, 0 to 1 */
  fraction(): number
  close(): void
}

/** A file as bytes, uncompressed where it was compressed. */
export interface ByteSource {
  readonly file: string
  chunks(): AsyncIterable<Uint8Array>
  /** share of the file that has been read, 0 to 1 */
  fraction(): number
}

/** Columns of a CSV file that hold the location; undefined where the usual names are searched for. */
export interface PlaceColumns {
  lng?: string
  lat?: string
  geometry?: string
}

/** Records of one transaction of an import. */
export const BATCH_ROWS = 5000

/** Groups items into batches of `BATCH_ROWS`. */
export async function* batched<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
