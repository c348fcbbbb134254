/** Returns a longer copy. Callers double the size, so all copies together cost at most twice the final size. */
export function grown<A extends Float64Array | Uint32Array | Uint8Array>(array: A, size: number): A {
  // the constructor of an array makes arrays of its own type, which TypeScript does not express
  const larger = new (array.constructor as new (size: number) => A)(size)
  larger.set(array)
  return larger
}
