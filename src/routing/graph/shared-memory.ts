/** Shared memory → memory as large, which nobody writes, so that the system never has to give it. */
const counted = new WeakMap<SharedArrayBuffer, ArrayBuffer>()

/** Smaller pieces are not taken from the system each by itself, so that they would be written with zeros. */
const LEAST_COUNTED = 256 * 1024

/**
 * Returns zeros in memory that threads can share.
 *
 * V8 does not count shared memory, so it would collect no garbage however much of that is shared memory: a gateway that
 * made new profiles of a country one after another took gigabytes. Memory as large that is counted lives as long.
 */
export function sharedBuffer(bytes: number): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(bytes)
  count(shared)
  return shared
}

/**
 * Has the shared memory in a message from another thread counted in this one, too: as long as this one has not collected
 * its part of a message, the memory stays.
 */
export function countReceived(message: unknown): void {
  if (ArrayBuffer.isView(message)) {
    if (message.buffer instanceof SharedArrayBuffer) count(message.buffer)
  } else if (typeof message === 'object' && message !== null) {
    for (const value of Object.values(message)) countReceived(value)
  }
}

function count(shared: SharedArrayBuffer): void {
  const bytes = shared.byteLength
  if (bytes >= LEAST_COUNTED) counted.set(shared, new ArrayBuffer(bytes))
}

/** Returns a copy of an array in memory that threads can share. */
export function sharedCopy<A extends Float64Array | Int32Array | Uint32Array | Uint8Array>(array: A): A {
  // the constructor of an array makes arrays of its own type, which TypeScript does not express
  const create = array.constructor as new (buffer: SharedArrayBuffer) => A
  const copy = new create(sharedBuffer(array.byteLength))
  copy.set(array)
  return copy
}
