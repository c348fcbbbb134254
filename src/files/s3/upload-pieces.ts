import type { BlobStore, ByteRange } from '../blob-store.js'
import { createS3Store, listFolders, type S3StoreOptions } from './store.js'

/**
 * Pieces of uploads on their way, in a bucket: the bytes that were acknowledged, so that another process can go on. Each
 * upload has a folder of its own, so that pieces are removed without a look at others.
 */
export interface UploadPieces {
  /**
   * Puts a part of a file.
   *
   * @returns digest, by which it is read
   * @throws AppError OBJECTS_UNAVAILABLE
   */
  put(uploadId: string, file: string, range: ByteRange): Promise<string>
  /** Returns the pieces of an upload by digest, to be read. */
  folder(uploadId: string): Pick<BlobStore, 'open' | 'stat'>
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
    put: (uploadId, file, range) => storeOf(uploadId).putRange(file, range),
    folder: storeOf,
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
