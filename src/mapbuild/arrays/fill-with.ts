type Numbers = Float64Array | Uint32Array | Int32Array | Uint8Array

/**
 * Fills an array with a value for each of its places. `from` of typed arrays would do the same, but lists all values
 * on the heap first: 100 bytes a junction of a map that is built.
 */
export function fillWith<T extends Numbers>(array: T, valueAt: (at: number) => number): T {
  for (let at = 0; at < array.length; at++) array[at] = valueAt(at)
  return array
}
