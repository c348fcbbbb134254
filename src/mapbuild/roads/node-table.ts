/** Result of `findId` for an unknown id. */
export const NO_INDEX = 0xffffffff

/** Returns the different ids among `refs`, ascending. Sorts a copy of 8 bytes a ref. */
export function sortedIds(refs: Float64Array): Float64Array {
  const sorted = refs.slice().sort()
  let count = 0
  for (let i = 0; i < sorted.length; i++) {
    const id = sorted[i]!
    if (count === 0 || id !== sorted[count - 1]) sorted[count++] = id
  }
  return sorted.slice(0, count)
}

/**
 * Finds the index of an id in an ascending list, by galloping search from `near`: extracts are mostly sorted
 * and give neighbours consecutive ids. Logarithmic in the distance from `near`.
 *
 * @param near index of the last id that was found; out of range = search the whole list
 * @returns `NO_INDEX` when the id is not in the list
 * @see J. L. Bentley, A. C. Yao, "An almost optimal algorithm for unbounded searching", 1976
 */
export function findId(ids: Float64Array, id: number, near: number): number {
  let low = 0
  let high = ids.length - 1
  if (near < ids.length) {
    let step = 1
    if (ids[near]! <= id) {
      low = near
      while (low + step <= high && ids[low + step]! <= id) {
        low += step
        step *= 2
      }
      high = Math.min(high, low + step)
    } else {
      high = near
      while (high - step >= 0 && ids[high - step]! > id) {
        high -= step
        step *= 2
      }
      low = Math.max(0, high - step)
    }
  }
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = ids[middle]!
    if (found === id) return middle
    if (found < id) low = middle + 1
    else high = middle - 1
  }
  return NO_INDEX
}
