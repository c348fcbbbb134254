/** A result that is JSON text of one value. It is put into the answer unchecked. */
export interface RawJson {
  readonly kind: 'rawJson'
  /** text, or its bytes in UTF-8 */
  readonly text: string | Uint8Array
}

/** A result that is JSON text of one value, made while it is sent. It is put into the answer unchecked. */
export interface StreamedJson {
  readonly kind: 'streamedJson'
  readonly chunks: AsyncIterable<string>
}

const made = new WeakSet<object>()

/** Marks JSON text of a whole result, for instance from a worker. */
export function rawJson(text: string | Uint8Array): RawJson {
  const result: RawJson = { kind: 'rawJson', text }
  made.add(result)
  return result
}

/**
 * Marks a result that is sent while it is read, in constant memory. A caller that stops reading closes the
 * source by `return()`. A fault before the first chunk becomes an error answer; a later one breaks the
 * transfer.
 */
export function streamed(chunks: AsyncIterable<string>): StreamedJson {
  const result: StreamedJson = { kind: 'streamedJson', chunks }
  made.add(result)
  return result
}

/** Marks JSON text of a whole result, or such text that is made while it is sent. */
export function textResult(text: string | AsyncIterable<string>): RawJson | StreamedJson {
  return typeof text === 'string' ? rawJson(text) : streamed(text)
}

/** True for a marked result; false for a plain value of the same shape. */
export function isMarked(value: unknown): value is RawJson | StreamedJson {
  return typeof value === 'object' && value !== null && made.has(value)
}

/** True for a result that is made while it is sent. */
export function isStreamed(value: unknown): value is StreamedJson {
  return isMarked(value) && value.kind === 'streamedJson'
}
