type Numbers = Float64Array | Uint32Array | Int32Array | Uint16Array | Uint8Array

/**
 * A typed array that grows while it is filled. Growing replaces `array`, so read the property again after a
 * push.
 */
export interface Growing<T extends Numbers> {
  array: T
  length: number
}

type NumbersOf<T> = new (length: number) => T

/** Creates an empty array. @param capacity elements before it has to grow */
export function createGrowing<T extends Numbers>(Type: NumbersOf<T>, capacity = 1024): Growing<T> {
  return { array: new Type(capacity), length: 0 }
}

/** Appends a value. Constant time on average. */
export function push<T extends Numbers>(growing: Growing<T>, value: number): void {
  if (growing.length === growing.array.length) reserve(growing, growing.length + 1)
  growing.array[growing.length++] = value
}

/** Makes room for `capacity` elements; an array that grows gets at least half as much again. */
export function reserve<T extends Numbers>(growing: Growing<T>, capacity: number): void {
  const { array, length } = growing
  if (capacity <= array.length) return
  // the constructor of an array makes arrays of its own type, which TypeScript does not express
  const Type = array.constructor as NumbersOf<T>
  const larger = new Type(Math.max(capacity, Math.ceil(array.length * 1.5)))
  larger.set(array.subarray(0, length) as never)
  growing.array = larger
}

/** Returns the filled part, as a view that is valid until the next push. */
export function filled<T extends Numbers>(growing: Growing<T>): T {
  return growing.array.subarray(0, growing.length) as T
}
