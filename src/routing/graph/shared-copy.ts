/** Returns a copy of an array in memory that threads can share. */
export function sharedCopy<A extends Float64Array | Int32Array | Uint32Array | Uint8Array>(array: A): A {
  // the constructor of an array makes arrays of its own type, which TypeScript does not express
  const create = array.constructor as new (buffer: SharedArrayBuffer) => A
  const copy = new create(new SharedArrayBuffer(array.byteLength))
  copy.set(array)
  return copy
}
