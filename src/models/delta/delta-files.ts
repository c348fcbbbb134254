import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { applyDelta } from './apply-delta.js'
import { sourceOf } from './byte-source.js'
import { badDelta } from './faults.js'
import { makeDelta } from './make-delta.js'

/** A file by path and digest. */
interface DigestedFile {
  readonly path: string
  /** hex */
  readonly sha256: string
}

/** Files of a delta that is made. */
export interface MakeFiles {
  readonly base: DigestedFile
  readonly next: DigestedFile
  /** written under another name until it is complete */
  readonly output: string
  /** largest delta that is worth its time, bytes; absent for any */
  readonly maxBytes?: number
}

/** Files of a delta that is applied. */
export interface ApplyFiles {
  readonly base: DigestedFile
  readonly delta: string
  /** written under another name until its digest is right */
  readonly output: string
  /** largest result, bytes */
  readonly maxBytes: number
}

/**
 * Makes a delta file, in steps of at most a block. Without its last step, and after an error, nothing is left.
 *
 * @returns yields the bytes written so far; the last value is the size of the file
 * @throws Error for a file that cannot be read, or that does not have its digest; AppError BAD_DELTA for a delta
 *   of more than `maxBytes`
 */
export async function* makeDeltaFile({ base, next, output, maxBytes }: MakeFiles): AsyncGenerator<number> {
  await using opened = await openAll(base.path, next.path)
  const [before, after] = opened.files as [FileHandle, FileHandle]
  const from = { source: await sourceOf(before), sha256: base.sha256 }
  const to = { source: await sourceOf(after), sha256: next.sha256 }
  if (maxBytes === undefined) return yield* writeWhole(makeDelta(from, to), output)
  yield* writeWhole(limited(makeDelta(from, to), maxBytes), output)
}

async function* limited(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let left = maxBytes
  for await (const bytes of source) {
    left -= bytes.byteLength
    if (left < 0) throw badDelta(`found more than ${maxBytes} bytes`)
    yield bytes
  }
}

/**
 * Applies a delta file, in steps of at most a block. Without its last step, and after an error, nothing is
 * left.
 *
 * @returns yields the bytes written so far; the last value is the size of the file
 * @throws AppError BAD_DELTA; Error for a file that cannot be read
 */
export async function* applyDeltaFile(files: ApplyFiles): AsyncGenerator<number> {
  const { base, delta, output, maxBytes } = files
  await using opened = await openAll(base.path)
  const [before] = opened.files as [FileHandle]
  const source = await sourceOf(before)
  const bytes = applyDelta({ source, sha256: base.sha256 }, createReadStream(delta), { maxBytes })
  yield* writeWhole(bytes, output)
}

/** Opens files for reading; all are closed at the end of the scope. */
async function openAll(...paths: string[]) {
  const files: FileHandle[] = []
  const close = async () => {
    for (const file of files) await file.close()
  }
  try {
    for (const path of paths) files.push(await open(path))
  } catch (error) {
    await close()
    throw error
  }
  return { files, [Symbol.asyncDispose]: close }
}

/** Writes a file under another name, syncs it and renames it. */
async function* writeWhole(source: AsyncIterable<Uint8Array>, output: string): AsyncGenerator<number> {
  const part = `${output}.part`
  const file = await open(part, 'w')
  let isWhole = false
  try {
    let written = 0
    for await (const bytes of source) {
      for (let done = 0; done < bytes.byteLength; )
        done += (await file.write(bytes, done, bytes.byteLength - done)).bytesWritten
      written += bytes.byteLength
      yield written
    }
    await file.sync()
    await rename(part, output)
    isWhole = true
  } finally {
    await file.close()
    if (!isWhole) await rm(part, { force: true })
  }
}
