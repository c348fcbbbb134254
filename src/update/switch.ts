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
 * The executable, the one it replaced, and the one that is to come: in one directory, so that a rename is
 * enough.
 */
export interface Places {
  current: string
  previous: string
  /** made by `takeIn` */
  fresh: string
}

export function placesOf(executable: string, pid: number): Places {
  return { current: executable, previous: `${executable}.previous`, fresh: `${executable}.${pid}.new` }
}

/**
 * Copies a release beside the executable. What is written is hashed, so that the bytes that will run are the
 * bytes that were signed, whatever happens to the file meanwhile.
 *
 * @throws Error in one line when they are not the signed ones, or when the disk is full; nothing is left then
 */
export async function takeIn(file: string, { fresh }: Places, signed: Statement): Promise<void> {
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
 * Puts the new executable in place of the current one, which is kept. At every moment one of them has the
 * name.
 */
export function switchOver({ current, previous, fresh }: Places): void {
  const kept = `${previous}.${process.pid}`
  linkSync(current, kept)
  renameSync(kept, previous)
  renameSync(fresh, current)
  syncDirectory(current)
}

/** Puts the kept executable back; it stays kept. @throws Error when there is none */
export function switchBack({ current, previous }: Places): void {
  const back = `${current}.${process.pid}.back`
  try {
    linkSync(previous, back)
  } catch (error) {
    throw new Error(`no earlier version is kept as ${previous}: ${messageOf(error)}`, { cause: error })
  }
  renameSync(back, current)
  rmSync(back, { force: true }) // rename does nothing when both names are one file already
  syncDirectory(current)
}

/** Or the rename could be undone by a power cut. */
function syncDirectory(file: string): void {
  const fd = openSync(path.dirname(file), 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
