import { type FileHandle, open } from 'node:fs/promises'
import type { Test } from 'tap'

type Methods = 'sync' | 'write' | 'writev' | 'truncate' | 'emit'

/** Replacement of a method: the handle, the original bound to it, and the arguments. */
// biome-ignore lint/suspicious/noExplicitAny: the arguments and the result of any method
type Replacement = (handle: FileHandle, original: (...args: any[]) => any, ...args: any[]) => unknown

const handle = await open(process.execPath, 'r')
const prototype = Object.getPrototypeOf(handle)
await handle.close()

/** Replaces a method of every file handle until the end of a test. */
export function replaceMethod(t: Test, method: Methods, replace: Replacement): void {
  const original = prototype[method]
  const isOwn = Object.hasOwn(prototype, method)
  prototype[method] = function (this: FileHandle, ...args: unknown[]) {
    return replace(this, original.bind(this), ...args)
  }
  t.teardown(() => {
    if (isOwn) prototype[method] = original
    else delete prototype[method]
  })
}

/**
 * Counts the handles that are closed until the end of a test. `close` itself is no method of the prototype.
 */
export function countClosed(t: Test): () => number {
  let closed = 0
  replaceMethod(t, 'emit', (_handle, emit, name: string, ...args: unknown[]) => {
    if (name === 'close') closed++
    return emit(name, ...args)
  })
  return () => closed
}

/** Returns the error of a file operation with a code of the system. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}
