import type { FileHandle } from 'node:fs/promises'
import { badDelta } from './faults.js'

/** Bytes that are read at any place. */
export interface ByteSource {
  readonly sizeBytes: number
  /** Fills `target` from `offset` on. @throws Error when there are not enough bytes */
  read(offset: number, target: Uint8Array): Promise<void>
}

/** Makes a source of an open file. */
export async function sourceOf(file: FileHandle): Promise<ByteSource> {
  const { size: sizeBytes } = await file.stat()
  return {
    sizeBytes,
    async read(offset, target) {
      for (let done = 0; done < target.byteLength; ) {
        const { bytesRead } = await file.read(target, done, target.byteLength - done, offset + done)
        if (bytesRead === 0)
          throw new Error(`the file became shorter than ${sizeBytes} bytes while it was read`)
        done += bytesRead
      }
    },
  }
}

/** Makes a source of bytes in memory. */
export function sourceOfBytes(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.byteLength,
    async read(offset, target) {
      if (offset + target.byteLength > bytes.byteLength) throw new Error('read beyond the end')
      target.set(bytes.subarray(offset, offset + target.byteLength))
    },
  }
}

/** Bytes that are read in order, in pieces of a wanted length. */
export interface SequentialReader {
  /** Reads exactly `length` bytes. @throws AppError BAD_DELTA at the end of the source */
  take(length: number): Promise<Uint8Array>
  /** Returns true when no byte is left. */
  isAtEnd(): Promise<boolean>
  /** Ends the source, which may hold a file open. */
  close(): Promise<void>
}

/** Makes a reader. @param onRead called with every byte once, before it is returned */
export function readInOrder(
  source: AsyncIterable<Uint8Array>,
  onRead: (bytes: Uint8Array) => void,
): SequentialReader {
  const chunks = source[Symbol.asyncIterator]()
  let left: Uint8Array = new Uint8Array(0)
  const refill = async (): Promise<boolean> => {
    while (left.byteLength === 0) {
      const { done, value } = await chunks.next()
      if (done === true) return false
      left = value
    }
    return true
  }
  return {
    async take(length) {
      const taken = new Uint8Array(length)
      for (let done = 0; done < length; ) {
        if (!(await refill())) throw badDelta('found the end of the delta within a block')
        const part = left.subarray(0, length - done)
        taken.set(part, done)
        left = left.subarray(part.byteLength)
        done += part.byteLength
      }
      onRead(taken)
      return taken
    },
    isAtEnd: async () => !(await refill()),
    async close() {
      await chunks.return?.()
    },
  }
}
