/*
 * The row index of a citation: the row ids at every `STRIDE` rows of it, as differences in 7-bit groups. What a citation
 * sees never changes, so a page deep within it is found without counting the rows before: two bytes for a thousand rows.
 */

/** Rows between two marks. */
export const STRIDE = 1024

export interface RowIndexWriter {
  /** rows in ascending order of their ids */
  add(rowId: number): void
  finish(): Uint8Array
}

export function createRowIndexWriter(): RowIndexWriter {
  const bytes: number[] = []
  let count = 0
  let last = 0
  return {
    add(rowId) {
      count++
      if (count % STRIDE !== 0) return
      for (let rest = rowId - last; ; rest = Math.floor(rest / 128)) {
        if (rest < 128) {
          bytes.push(rest)
          break
        }
        bytes.push((rest % 128) + 128)
      }
      last = rowId
    },
    finish: () => Uint8Array.from(bytes),
  }
}

/**
 * Where an offset begins.
 *
 * @returns the id after which to read, and how many rows are still to be left out there: less than `STRIDE` unless the
 *   offset lies behind the last mark
 */
export function seekRowIndex(index: Uint8Array, offset: number): { afterId: number; skip: number } {
  const marks = Math.floor(offset / STRIDE)
  let afterId = 0
  let passed = 0
  for (let at = 0; at < index.length && passed < marks; passed++) {
    let factor = 1
    for (;;) {
      const byte = index[at++] ?? 0
      afterId += (byte % 128) * factor
      if (byte < 128) break
      factor *= 128
    }
  }
  return { afterId, skip: offset - passed * STRIDE }
}
