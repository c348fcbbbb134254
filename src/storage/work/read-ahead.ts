/** Items that are read ahead of their use, as far as memory allows. Iterating yields all of them once, in order. */
export interface ReadAhead<T> extends Iterable<T> {
  /**
   * Reads on until `isTime` says that it is time for something else. Never throws: an error of the items is
   * thrown in its place when they are iterated.
   *
   * @returns true when nothing more is read ahead: all is read, or as much as may be kept
   */
  advance(isTime: () => boolean): boolean
}

/** Items between two looks at the clock. */
const CHECK_ITEMS = 32

/**
 * Creates items that can be read ahead.
 *
 * @param maxSize sum of the sizes beyond which no further item is kept
 */
export function createReadAhead<T>(
  items: Iterable<T>,
  sizeOf: (item: T) => number,
  maxSize: number,
): ReadAhead<T> {
  const source = items[Symbol.iterator]()
  const kept: T[] = []
  let size = 0
  /** the end of the items, or their error */
  let last: { readonly error?: unknown } | undefined
  const readOne = () => {
    try {
      const next = source.next()
      if (next.done === true) last = {}
      else {
        kept.push(next.value)
        size += sizeOf(next.value)
      }
    } catch (error) {
      last = { error }
    }
  }
  return {
    advance(isTime) {
      for (let count = 1; last === undefined && size < maxSize; count++) {
        readOne()
        if (count % CHECK_ITEMS === 0 && isTime()) return last !== undefined || size >= maxSize
      }
      return true
    },
    *[Symbol.iterator]() {
      yield* kept
      if (last === undefined) yield* { [Symbol.iterator]: () => source }
      else if ('error' in last) throw last.error
    },
  }
}
