import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { messageOf } from '../../errors.js'
import { badDelta } from './faults.js'

/** Largest window of a frame that is read: 8 MiB, above a block with its dictionary. */
const WINDOW_LOG = 23

/** Level 1 leaves less of weight planes than level 3, and takes a third of the time. */
const PLAIN = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
}

/** The tables fit the block; by default they are sized for the whole dictionary, and slower. */
const WITH_DICTIONARY = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 3,
    [constants.ZSTD_c_windowLog]: WINDOW_LOG,
    [constants.ZSTD_c_hashLog]: 19,
    [constants.ZSTD_c_chainLog]: 19,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
}

/**
 * Compresses bytes, with a checksum.
 *
 * @param dictionary bytes that the reader has too
 * @returns undefined when they would not shrink
 */
export function compress(bytes: Uint8Array, dictionary?: Uint8Array): Buffer | undefined {
  const packed = dictionary === undefined ? zstdCompressSync(bytes, PLAIN) : compressWith(bytes, dictionary)
  return packed !== undefined && packed.byteLength < bytes.byteLength ? packed : undefined
}

/** A dictionary that happens to begin as a trained one is refused by the library. */
function compressWith(bytes: Uint8Array, dictionary: Uint8Array): Buffer | undefined {
  try {
    return zstdCompressSync(bytes, { ...WITH_DICTIONARY, dictionary })
  } catch {
    return undefined // such a block is sent as it is
  }
}

/**
 * Decompresses bytes that have a known size. Memory is bounded by it whatever the frame says.
 *
 * @throws AppError BAD_DELTA for another size, a wrong checksum, and bytes after the frame
 */
export function decompress(packed: Uint8Array, sizeBytes: number, dictionary?: Uint8Array): Uint8Array {
  const found = unpack(packed, sizeBytes, dictionary)
  if (found.byteLength !== sizeBytes)
    throw badDelta(`found a block of ${found.byteLength} bytes, expected ${sizeBytes}`)
  return found
}

function unpack(packed: Uint8Array, sizeBytes: number, dictionary: Uint8Array | undefined): Buffer {
  try {
    return zstdDecompressSync(packed, {
      ...(dictionary === undefined ? {} : { dictionary }),
      params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
      maxOutputLength: sizeBytes,
      rejectGarbageAfterEnd: true,
    })
  } catch (error) {
    throw badDelta(`found a block that cannot be decompressed: ${messageOf(error)}`)
  }
}
