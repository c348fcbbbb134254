import { createReadStream } from 'node:fs'
import { createS3Store, listFolders, type S3StoreOptions } from './store.js'

/**
 * Pieces of uploads on their way, in a bucket: the bytes that were acknowledged, so that another process can go on. Each
 * upload has a folder of its own, so that pieces are removed without a look at others.
 */
export interface UploadPieces {
  /**
   * Puts a part of a file.
   *
   * @param range bytes of the file, the end is not part of it
   * @returns digest, by which it is read
   * @throws AppError OBJECTS_UNAVAILABLE
   */
  put(uploadId: string, file: string, range: { start: number; end: number }): Promise<string>
  /**
   * Reads a piece; undefined when it is gone.
   *
   * @throws AppError OBJECTS_UNAVAILABLE, STORAGE_DAMAGED for other bytes
   */
  read(uploadId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes the pieces of an upload. */
  remove(uploadId: string): Promise<void>
  /** Lists the uploads that have pieces. */
  list(): AsyncIterable<string>
  /** Returns the time at which the last piece of an upload was put, by the clock of the store, ms. */
  lastPutMs(uploadId: string): Promise<number>
}

/** @param options `prefix` begins the key of every piece */
export function createUploadPieces(options: S3StoreOptions): UploadPieces {
  const storeOf = (uploadId: string) => createS3Store({ ...options, prefix: `${options.prefix}${uploadId}/` })
  return {
    async put(uploadId, file, { start, end }) {
      const piece = await storeOf(uploadId).stage(createReadStream(file, { start, end: end - 1 }))
      try {
        await piece.keep()
      } catch (error) {
        await piece.drop()
        throw error
      }
      return piece.sha256
    },
    read: (uploadId, sha256) => storeOf(uploadId).open(sha256),
    async remove(uploadId) {
      const store = storeOf(uploadId)
      for await (const sha256 of store.list()) await store.remove(sha256)
    },
    list: () => listFolders(options.client, options.prefix),
    async lastPutMs(uploadId) {
      let lastMs = 0
      for await (const { putAtMs } of storeOf(uploadId).listAged()) lastMs = Math.max(lastMs, putAtMs)
      return lastMs
    },
  }
}
