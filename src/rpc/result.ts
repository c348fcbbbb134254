/**
 * Results that are not plain values: JSON text made elsewhere, or made piece by piece while it is sent.
 * Both are spliced into the answer as they are, so what they carry must be one valid JSON value.
 */
export interface RawJson {
  readonly kind: 'rawJson'
  readonly text: string
}

export interface StreamedJson {
  readonly kind: 'streamedJson'
  readonly chunks: AsyncIterable<string>
}

const made = new WeakSet<object>()

/** JSON text of a whole result, for instance from a worker. */
export function rawJson(text: string): RawJson {
  const result: RawJson = { kind: 'rawJson', text }
  made.add(result)
  return result
}

/**
 * A result that is sent while it is read: constant memory, and a caller that stops reading stops the source
 * (`return()` is called on the iterator). A fault before the first chunk becomes a proper error answer; after it
 * the body ends early, which HTTP clients see as a broken transfer.
 */
export function streamed(chunks: AsyncIterable<string>): StreamedJson {
  const result: StreamedJson = { kind: 'streamedJson', chunks }
  made.add(result)
  return result
}

/** Tells a marked result from a plain value that merely looks like one. */
export function isMarked(value: unknown): value is RawJson | StreamedJson {
  return typeof value === 'object' && value !== null && made.has(value)
}
