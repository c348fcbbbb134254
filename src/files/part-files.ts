import { constants, mkdirSync } from 'node:fs'
import { type FileHandle, open, readdir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'
import { ifThere, isDiskFull, syncFolder } from './blob-store.js'

/** Files that grow at their end and go on after a restart. A row elsewhere says how much of each is certain. */
export interface PartFiles {
  pathOf(id: string): string
  /**
   * Opens a part for writing behind `offsetBytes`; what stood there is cut off, because nobody vouched for it.
   *
   * @returns undefined when the file is shorter than that: its bytes are lost
   */
  openAt(id: string, offsetBytes: number): Promise<PartWriter | undefined>
  has(id: string): Promise<boolean>
  /** bytes 0 to `end - 1` */
  read(id: string, end: number): AsyncIterableIterator<Uint8Array>
  remove(id: string): Promise<void>
  list(): Promise<string[]>
}

export interface PartWriter {
  /** @throws AppError DISK_FULL */
  write(chunks: readonly Uint8Array[]): Promise<void>
  /** when it resolves, a power cut cannot take what was written */
  sync(): Promise<void>
  /** takes back what was written behind an offset */
  truncate(offsetBytes: number): Promise<void>
  close(): Promise<void>
}

const READ_BYTES = 256 * 1024

export function createPartFiles(dir: string): PartFiles {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const pathOf = (id: string) => {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(id)) throw new Error('a part is named by letters, digits and -')
    return path.join(dir, `${id}.part`)
  }
  return {
    pathOf,
    async openAt(id, offsetBytes) {
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
  let isNamed = startBytes > 0 // a file with certain bytes has its name on disk already
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
