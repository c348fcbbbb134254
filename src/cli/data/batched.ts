/** Records of one transaction of an import. */
export const BATCH_ROWS = 5000

/** Gathers what comes one by one. */
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
