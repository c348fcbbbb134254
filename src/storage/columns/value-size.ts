import type { Stored } from './column-type.js'

/** Setting that limits values, for messages. */
const SETTING = 'limits.valueBytes'

/** Reason why the values of a record take too much memory. */
interface SizeFault {
  /** the column at fault; null when no value alone is too large */
  readonly column: string | null
  readonly reason: string
}

/** Size of a value as it is stored, bytes. */
export function storedBytes(value: Stored | undefined): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return value instanceof Uint8Array ? value.byteLength : 0
}

/**
 * Checks the values of one record: a row is held as a whole, several times, when it is written or read.
 *
 * @param nameOf returns the name of the column of a value
 * @param maxBytes most bytes of text, bytes and files of one record together
 * @returns undefined when they fit. Costs a few nanoseconds a value
 */
export function sizeFault(
  values: readonly (Stored | undefined)[],
  nameOf: (slot: number) => string,
  maxBytes: number,
): SizeFault | undefined {
  let most = 0
  // a code unit is at most three bytes of UTF-8: nearly every record ends here
  for (const value of values)
    if (typeof value === 'string') most += value.length * 3
    else if (value instanceof Uint8Array) most += value.byteLength
  if (most <= maxBytes) return undefined
  const sizes = values.map(storedBytes)
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0)
  if (total <= maxBytes) return undefined
  const largest = Math.max(...sizes)
  if (largest > maxBytes)
    return { column: nameOf(sizes.indexOf(largest)), reason: tooLarge(largest, maxBytes) }
  const reason = `found ${total} bytes in all values of the record, expected at most ${maxBytes} (${SETTING})`
  return { column: null, reason }
}

/** Found and expected size of a value that is too large. */
export function tooLarge(found: number, maxBytes: number): string {
  return `found ${found} bytes, expected at most ${maxBytes} (${SETTING})`
}
