import { createHash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  fsyncSync,
  linkSync,
  openSync,
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

/**
 * Copies a release beside the executable. The written bytes are hashed, so that the bytes that will run are
 * the signed ones even if the file changes meanwhile.
 *
 * @throws Error in one line when the digest is not the signed one, or the disk is full; the copy is removed
 *   then
 */
export async function copyRelease(file: string, { fresh }: Places, signed: Statement): Promise<void> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  const fd = openSync(fresh, 'wx', 0o755)
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      const bytes = chunk as Buffer
      hash.update(bytes)
      sizeBytes += bytes.length
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    }
    fsyncSync(fd)
    const sha256 = hash.digest('hex')
    if (sizeBytes !== signed.sizeBytes || sha256 !== signed.sha256) {
      const found = `${sizeBytes} bytes of sha256 ${sha256.slice(0, 16)}…`
      const expected = `${signed.sizeBytes} of ${signed.sha256.slice(0, 16)}…`
      throw new Error(`${file} is not the file that was signed: found ${found}, expected ${expected}`)
    }
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/**
 * Replaces the current executable by the new one, and keeps it as the previous one. At every moment the path
 * exists.
 */
export function switchOver({ current, previous, fresh }: Places): void {
  const kept = `${previous}.${process.pid}`
  linkSync(current, kept)
  renameSync(kept, previous)
  renameSync(fresh, current)
  syncDirectory(current)
}

/** Restores the previous executable, of which a copy stays. @throws Error when there is none */
export function switchBack({ current, previous }: Places): void {
  const back = `${current}.${process.pid}.back`
  try {
    linkSync(previous, back)
  } catch (error) {
    throw new Error(`there is no previous version ${previous}: ${messageOf(error)}`, { cause: error })
  }
  renameSync(back, current)
  rmSync(back, { force: true }) // rename does nothing when both names are links to one file
  syncDirectory(current)
}

/** Syncs the directory of a file: without it a power cut could undo the rename. */
function syncDirectory(file: string): void {
  const fd = openSync(path.dirname(file), 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
