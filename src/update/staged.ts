import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'

/** Files of a release that waits to be installed. */
export interface StagedPaths {
  readonly release: string
  /** written last: without it nothing is staged */
  readonly signature: string
}

/** Returns the paths of a staged release. @param dir `fleet/release` of the data directory */
export function stagedPaths(dir: string): StagedPaths {
  return { release: path.join(dir, 'fieldgate'), signature: path.join(dir, 'fieldgate.sig') }
}

/**
 * Opens a file of a folder that another user may write: a link, a device or a pipe in its place is refused.
 *
 * @returns the open file; undefined when nothing has the name
 * @throws Error in one line
 */
export function openRegular(file: string): number | undefined {
  let fd: number
  try {
    // without O_NONBLOCK a pipe would be waited for
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return undefined
    const found = code === 'ELOOP' ? 'found a symbolic link' : messageOf(error)
    throw new Error(`${file}: ${found}, expected a regular file`, { cause: error })
  }
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error(`${file}: found no regular file, expected one`)
}

/**
 * Reads a short text of such a folder.
 *
 * @returns undefined when nothing has the name
 * @throws Error in one line, also for a text that is longer
 */
export function readRegular(file: string, maxBytes: number): string | undefined {
  const fd = openRegular(file)
  if (fd === undefined) return undefined
  try {
    const buffer = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (;;) {
      const read = readSync(fd, buffer, length, buffer.length - length, null)
      length += read
      if (read === 0 || length === buffer.length) break
    }
    if (length > maxBytes) throw new Error(`${file}: found more than ${maxBytes} bytes, expected a signature`)
    return buffer.toString('utf8', 0, length)
  } finally {
    closeSync(fd)
  }
}
