import { createHash } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import type { Statement } from './statement.js'

/**
 * Paths of the installed, the previous and the new executable: in one directory, so that renames can exchange
 * them.
 */
export interface Places {
  current: string
  previous: string
  /** written by `copyRelease` */
  fresh: string
}

/** Paths beside an executable. @param pid makes the name of the new one unique */
export function placesOf(executable: string, pid: number): Places {
  return { current: executable, previous: `${executable}.previous`, fresh: `${executable}.${pid}.new` }
}

/** Size of one read. */
const READ_BYTES = 1024 * 1024

/**
 * Copies a release beside the executable. The written bytes are hashed, so that the bytes that will run are
 * the signed ones even if the file changes meanwhile. Nobody else can read or run the copy before that.
 *
 * @param release open file, which the caller closes
 * @param name of the file, for messages
 * @throws Error in one line when the digest is not the signed one, or the disk is full; the copy is removed
 *   then
 */
export function copyRelease(release: number, name: string, { fresh }: Places, signed: Statement): void {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let sizeBytes = 0
  const fd = openSync(fresh, 'wx', 0o600)
  try {
    // one byte more than signed is enough to know that it is another file
    while (sizeBytes <= signed.sizeBytes) {
      const length = readSync(release, buffer, 0, READ_BYTES, sizeBytes)
      if (length === 0) break
      const bytes = buffer.subarray(0, length)
      hash.update(bytes)
      sizeBytes += length
      for (let at = 0; at < length; ) at += writeSync(fd, bytes, at)
    }
    const sha256 = hash.digest('hex')
    if (sizeBytes !== signed.sizeBytes || sha256 !== signed.sha256) {
      const found = `${sizeBytes > signed.sizeBytes ? 'more' : sizeBytes} bytes of sha256 ${sha256.slice(0, 16)}…`
      const expected = `${signed.sizeBytes} of ${signed.sha256.slice(0, 16)}…`
      throw new Error(`${name} is not the file that was signed: found ${found}, expected ${expected}`)
    }
    fchmodSync(fd, 0o755)
    fsyncSync(fd)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Returns the SHA-256 of a file, hex. */
export function digestOfFile(file: string): string {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  const fd = openSync(file, 'r')
  try {
    for (let length = READ_BYTES; length > 0; ) {
      length = readSync(fd, buffer, 0, READ_BYTES, null)
      hash.update(buffer.subarray(0, length))
    }
  } finally {
    closeSync(fd)
  }
  return hash.digest('hex')
}

/**
 * Replaces the current executable by the new one, and keeps it as the previous one. At every moment the path
 * exists.
 */
export function switchOver({ current, previous, fresh }: Places): void {
  const kept = `${previous}.${process.pid}`
  rmSync(kept, { force: true }) // of an update that a power cut ended
  linkSync(current, kept)
  renameSync(kept, previous)
  rmSync(kept, { force: true }) // rename does nothing when both names are links to one file
  renameSync(fresh, current)
  syncDirectory(current)
}

/** Restores the previous executable, of which a copy stays. @throws Error when there is none */
export function switchBack({ current, previous }: Places): void {
  const back = `${current}.${process.pid}.back`
  rmSync(back, { force: true })
  try {
    linkSync(previous, back)
  } catch (error) {
    throw new Error(`there is no previous version ${previous}: ${messageOf(error)}`, { cause: error })
  }
  renameSync(back, current)
  rmSync(back, { force: true }) // rename does nothing when both names are links to one file
  syncDirectory(current)
}

/** Syncs the directory of a file: without it a power cut could undo a rename in it. */
export function syncDirectory(file: string): void {
  const fd = openSync(path.dirname(file), 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
