import { PbfReader } from 'pbf'

/** Strings of one block. Most are never used, so each is decoded on first use. */
export interface StringTable {
  readonly count: number
  /** Returns a string; undefined when the table has no such index. */
  text(index: number): string | undefined
  /**
   * Returns true when the string is one of `keys`, which must all be among the `known` strings of the table.
   */
  isWanted(index: number, keys: readonly string[]): boolean
}

const decoder = new TextDecoder()

/**
 * Reads a StringTable message.
 *
 * @param known strings that `isWanted` can be asked for
 * @throws Error when a string ends behind the table
 */
export function readStringTable(
  bytes: Uint8Array,
  start: number,
  end: number,
  known: readonly string[],
): StringTable {
  const bounds: number[] = []
  const pbf = new PbfReader(bytes)
  pbf.pos = start
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field !== 1) continue
    const last = pbf.readPackedEnd()
    if (last > end) throw new Error('a string ends behind its table')
    bounds.push(pbf.pos, last)
    pbf.pos = last
  }
  if (pbf.pos > end) throw new Error('the string table ends behind its block')
  const texts: (string | undefined)[] = []
  const text = (index: number): string | undefined => {
    const from = bounds[index * 2]
    if (from === undefined) return undefined
    texts[index] ??= decoder.decode(bytes.subarray(from, bounds[index * 2 + 1]))
    return texts[index]
  }
  const places = findKnown(bounds, known, text)
  return {
    count: bounds.length / 2,
    text,
    isWanted: (index, keys) => {
      const key = places.get(index)
      return key !== undefined && keys.includes(key)
    },
  }
}

/**
 * Index → string, for the known strings in the table; only strings of the same length as a known one are
 * decoded.
 */
function findKnown(
  bounds: readonly number[],
  known: readonly string[],
  text: (index: number) => string | undefined,
): Map<number, string> {
  const lengths = new Set(known.map((key) => key.length)) // keys are ASCII
  const places = new Map<number, string>()
  if (known.length === 0) return places
  for (let index = 0; index * 2 < bounds.length; index++) {
    if (!lengths.has(bounds[index * 2 + 1]! - bounds[index * 2]!)) continue
    const found = text(index)
    if (found !== undefined && known.includes(found)) places.set(index, found)
  }
  return places
}
