import { constants, mkdirSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'
import { ifThere, isDiskFull, syncFolder } from './blob-store.js'

/**
 * Files that grow at their end and continue after a restart. A row in the database holds the size on disk of
 * each.
 */
export interface PartFiles {
  /** @throws Error for an id with other characters than letters, digits and `-` */
  pathOf(id: string): string
  /**
   * Opens a part for writing at `offsetBytes`, creating it if needed. Bytes after the offset were not synced
   * and are cut off.
   *
   * @returns undefined if the file is shorter: bytes were lost
   */
  openAt(id: string, offsetBytes: number): Promise<PartWriter | undefined>
  has(id: string): Promise<boolean>
  /** Reads bytes 0 to `end - 1`. */
  read(id: string, end: number): AsyncIterableIterator<Uint8Array>
  remove(id: string): Promise<void>
  list(): Promise<string[]>
}

/** An open part. */
export interface PartWriter {
  /** @throws AppError DISK_FULL */
  write(chunks: readonly Uint8Array[]): Promise<void>
  /** Syncs the written bytes: when it resolves, they survive a power cut. */
  sync(): Promise<void>
  /** Removes the bytes after an offset. */
  truncate(offsetBytes: number): Promise<void>
  close(): Promise<void>
}

/** Size of one read. */
const READ_BYTES = 256 * 1024

/** Opens the parts of a directory, which is created if needed. */
export function createPartFiles(dir: string): PartFiles {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const pathOf = (id: string) => {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(id))
      throw new Error(`found the part id ${id.slice(0, 80)}, expected 1 to 64 letters, digits and -`)
    return path.join(dir, `${id}.part`)
  }
  return {
    pathOf,
    async openAt(id, offsetBytes) {
      // the folder may have been removed since the start: its bytes are lost, and the next upload begins
      await mkdir(dir, { recursive: true, mode: 0o700 })
      const handle = await open(pathOf(id), constants.O_RDWR | constants.O_CREAT, 0o600)
      try {
        const { size } = await handle.stat()
        if (size < offsetBytes) {
          await handle.close()
          return undefined
        }
        if (size > offsetBytes) await handle.truncate(offsetBytes)
        return writerOf(handle, dir, offsetBytes)
      } catch (error) {
        await handle.close()
        throw error
      }
    },
    async has(id) {
      return (await ifThere(stat(pathOf(id)))) !== undefined
    },
    read: (id, end) => readPart(pathOf(id), end),
    async remove(id) {
      await ifThere(unlink(pathOf(id)))
    },
    async list() {
      const names = await readdir(dir)
      return names.filter((name) => name.endsWith('.part')).map((name) => name.slice(0, -'.part'.length))
    },
  }
}

function writerOf(handle: FileHandle, dir: string, startBytes: number): PartWriter {
  let at = startBytes
  let isNamed = startBytes > 0 // the name of a file with synced bytes is on disk
  return {
    async write(chunks) {
      try {
        for (const chunk of chunks) {
          for (let done = 0; done < chunk.byteLength; ) {
            const { bytesWritten } = await handle.write(chunk, done, chunk.byteLength - done, at)
            done += bytesWritten
            at += bytesWritten
          }
        }
      } catch (error) {
        throw isDiskFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
      }
    },
    async sync() {
      await handle.sync()
      if (!isNamed) await syncFolder(dir)
      isNamed = true
    },
    async truncate(offsetBytes) {
      await handle.truncate(offsetBytes)
      at = offsetBytes
    },
    close: () => handle.close(),
  }
}

async function* readPart(file: string, end: number): AsyncIterableIterator<Uint8Array> {
  const handle = await open(file, 'r')
  try {
    for (let at = 0; at < end; ) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, end - at))
      const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, at)
      if (bytesRead === 0) return
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}
