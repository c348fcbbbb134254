import { createGrowing, filled, reserve } from './growing.js'

/** Builder of `Graph.strings`: each different string once, the empty one at offset 0. */
export interface StringPool {
  /** Adds a string. @returns its offset, the same for equal strings */
  add(text: string): number
  /** Returns the string at an offset that `add` returned. */
  text(offset: number): string
  /** Returns a copy of the pool, as the map file has it. */
  bytes(): Uint8Array
}

const LENGTH_BYTES = 4

/** Creates a pool that holds the empty string. */
export function createStringPool(): StringPool {
  const pool = createGrowing(Uint8Array, 64 * 1024)
  const offsets = new Map<string, number>([['', 0]])
  const encoder = new TextEncoder()
  pool.length = LENGTH_BYTES // the empty string: length 0
  return {
    add(text) {
      const known = offsets.get(text)
      if (known !== undefined) return known
      const offset = pool.length
      reserve(pool, offset + LENGTH_BYTES + text.length * 3) // UTF-8 needs at most three bytes a UTF-16 unit
      const { written } = encoder.encodeInto(text, pool.array.subarray(offset + LENGTH_BYTES))
      new DataView(pool.array.buffer).setUint32(offset, written, true)
      pool.length = offset + LENGTH_BYTES + written
      offsets.set(text, offset)
      return offset
    },
    text(offset) {
      const length = new DataView(pool.array.buffer).getUint32(offset, true)
      return new TextDecoder().decode(
        pool.array.subarray(offset + LENGTH_BYTES, offset + LENGTH_BYTES + length),
      )
    },
    bytes: () => filled(pool).slice(),
  }
}
