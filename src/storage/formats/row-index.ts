/*
 * Row index of a citation: the id of every `STRIDE`th row, as differences in 7-bit groups, about two bytes each. A cited state
 * does not change, so a page deep within it is found without counting the rows before it.
 */

/** Rows between two entries. */
export const STRIDE = 1024

/** Writer of a row index. */
interface RowIndexWriter {
  /** Adds the next row; ids ascend. */
  add(rowId: number): void
  finish(): Uint8Array
}

/** Starts a row index. */
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
 * Finds the start of an offset.
 *
 * @returns the id after which to read, and the rows to skip from there: less than `STRIDE` unless the offset
 *   is behind the last entry
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
