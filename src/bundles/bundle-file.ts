import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import path from 'node:path'
import { isDiskFull, syncFolder } from '../files/blob-store.js'
import { HEAD_BYTES, LENGTH_BYTES, MAGIC, MAX_ENVELOPES } from './seal/format.js'

/** A file of envelopes that is being written. */
export interface EnvelopeWriter {
  /** Writes an envelope. @returns its size */
  add(pieces: AsyncIterable<Uint8Array>): Promise<number>
  /** Returns the size so far, with the head. */
  bytes(): number
}

/**
 * Writes a file of envelopes. It appears under its name when it is whole and on disk; after an error nothing is left.
 *
 * @param count number of envelopes that `work` adds
 * @throws Error for a file that exists, a wrong number, or a full disk; what `work` throws
 */
export async function writeEnvelopes<T>(
  file: string,
  count: number,
  work: (writer: EnvelopeWriter) => Promise<T>,
): Promise<T> {
  if (existsSync(file)) throw new Error(`${file} exists: choose another name, or remove it`)
  if (count < 1 || count > MAX_ENVELOPES)
    throw new Error(`found ${count} bundles for one file, expected 1 to ${MAX_ENVELOPES}`)
  const part = `${file}.${randomUUID().slice(0, 8)}.part`
  const handle = await open(part, 'wx', 0o600)
  try {
    const result = await writeAll(handle, count, work)
    await handle.sync()
    await handle.close()
    await rename(part, file)
    await syncFolder(path.dirname(file))
    return result
  } catch (error) {
    await handle.close().catch(() => undefined) // closed already when the renaming failed
    await unlink(part)
    if (isDiskFull(error))
      throw new Error(`no space for ${file}: choose --max-bytes or another disk`, { cause: error })
    throw error
  }
}

async function writeAll<T>(
  handle: FileHandle,
  count: number,
  work: (writer: EnvelopeWriter) => Promise<T>,
): Promise<T> {
  const lengths: number[] = []
  let at = HEAD_BYTES + count * LENGTH_BYTES
  const result = await work({
    async add(pieces) {
      const start = at
      for await (const piece of pieces) {
        await writePiece(handle, piece, at)
        at += piece.byteLength
      }
      lengths.push(at - start)
      return at - start
    },
    bytes: () => at,
  })
  if (lengths.length !== count) throw new Error(`${lengths.length} bundles were written, expected ${count}`)
  await writePiece(handle, headOf(lengths), 0)
  return result
}

function headOf(lengths: readonly number[]): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + lengths.length * LENGTH_BYTES)
  MAGIC.copy(head)
  head.writeUInt32BE(lengths.length, MAGIC.length)
  for (const [index, bytes] of lengths.entries())
    head.writeBigUInt64BE(BigInt(bytes), HEAD_BYTES + index * LENGTH_BYTES)
  return head
}

async function writePiece(handle: FileHandle, piece: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < piece.byteLength; ) {
    const { bytesWritten } = await handle.write(piece, done, piece.byteLength - done, at + done)
    done += bytesWritten
  }
}
