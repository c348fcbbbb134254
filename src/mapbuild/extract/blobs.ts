import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import { PbfReader } from 'pbf'
import { AppError, messageOf } from '../../errors.js'

/** Blob of an extract, still packed. */
export interface Blob {
  /** byte of its length prefix in the file */
  readonly offset: number
  /** `OSMHeader`, `OSMData` or unknown */
  readonly type: string
  /** the blob message */
  readonly bytes: Uint8Array
}

/** An open `.osm.pbf` file. It can be read several times. */
export interface Extract {
  readonly file: string
  readonly sizeBytes: number
  /** Yields the blobs from a byte on. @throws AppError BAD_EXTRACT */
  blobsFrom(offset: number): Generator<Blob>
  /** Returns the hex digest of the file, which it reads once more. */
  sha256(): string
  close(): void
}

/** Limits of the format for a blob's header and a blob. */
const MAX_HEADER_BYTES = 64 * 1024
const MAX_BLOB_BYTES = 32 * 1024 * 1024
/** zlib packs road data 2 to 20 times; a much higher ratio is an attack on memory. */
const MAX_RATIO = 200

/** Field numbers of `Blob` in fileformat.proto. */
const BLOB = { raw: 1, rawSize: 2, zlib: 3, lzma: 4, bzip2: 5, lz4: 6, zstd: 7 } as const
const UNREADABLE: Record<number, string> = {
  [BLOB.lzma]: 'lzma',
  [BLOB.bzip2]: 'bzip2',
  [BLOB.lz4]: 'lz4',
  [BLOB.zstd]: 'zstd',
}

/**
 * Opens an `.osm.pbf` file.
 *
 * @throws the error of the file system
 * @see https://wiki.openstreetmap.org/wiki/PBF_Format
 */
export function openExtract(file: string): Extract {
  const fd = openSync(file, 'r')
  const sizeBytes = fstatSync(fd).size
  return {
    file,
    sizeBytes,
    blobsFrom: (offset) => readBlobs(fd, sizeBytes, offset),
    sha256: () => hashFile(fd, sizeBytes),
    close: () => closeSync(fd),
  }
}

/**
 * Returns the error for an extract that cannot be used.
 *
 * @param offset byte of the fault in the file, or of the blob that holds it
 */
export function badExtract(offset: number, message: string, cause?: unknown): AppError {
  return new AppError(
    'BAD_EXTRACT',
    { offset },
    { message: `byte ${offset} of the extract: ${message}`, cause },
  )
}

function* readBlobs(fd: number, sizeBytes: number, from: number): Generator<Blob> {
  if (sizeBytes === 0) throw badExtract(0, 'the file is empty')
  const prefix = new Uint8Array(4)
  for (let offset = from; offset < sizeBytes; ) {
    readExactly(fd, prefix, offset, sizeBytes, offset)
    const headerBytes = new DataView(prefix.buffer).getUint32(0)
    if (headerBytes === 0 || headerBytes > MAX_HEADER_BYTES) throw notABlob(offset, prefix, headerBytes)
    const header = new Uint8Array(headerBytes)
    readExactly(fd, header, offset + 4, sizeBytes, offset)
    const { type, dataBytes } = readBlobHeader(header, offset)
    const bytes = new Uint8Array(dataBytes)
    readExactly(fd, bytes, offset + 4 + headerBytes, sizeBytes, offset)
    yield { offset, type, bytes }
    offset += 4 + headerBytes + dataBytes
  }
}

function readExactly(
  fd: number,
  into: Uint8Array,
  position: number,
  sizeBytes: number,
  blobAt: number,
): void {
  if (position + into.length > sizeBytes) {
    throw badExtract(
      blobAt,
      `the file is cut short: a blob begins here that needs ${position + into.length} bytes, the file has ${sizeBytes}`,
    )
  }
  for (let done = 0; done < into.length; ) {
    const read = readSync(fd, into, done, into.length - done, position + done)
    if (read === 0) throw badExtract(position + done, 'the file became shorter while it was read')
    done += read
  }
}

function notABlob(offset: number, prefix: Uint8Array, headerBytes: number): AppError {
  if (offset > 0) {
    return badExtract(
      offset,
      `found a blob header of ${headerBytes} bytes, expected 1 to ${MAX_HEADER_BYTES}`,
    )
  }
  const text = String.fromCharCode(...prefix)
  const looksLike = text.startsWith('<') ? ' (it looks like XML: convert it with osmium first)' : ''
  return badExtract(0, `this is no .osm.pbf file: it begins with ${JSON.stringify(text)}${looksLike}`)
}

function readBlobHeader(bytes: Uint8Array, offset: number): { type: string; dataBytes: number } {
  const pbf = new PbfReader(bytes)
  let type: string | undefined
  let dataBytes: number | undefined
  try {
    for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
      if (field === 1) type = pbf.readString()
      else if (field === 3) dataBytes = pbf.readVarint()
    }
  } catch (cause) {
    throw badExtract(offset, `the blob header cannot be read (${messageOf(cause)})`, cause)
  }
  if (pbf.pos !== bytes.length || type === undefined || dataBytes === undefined) {
    throw badExtract(offset, 'the blob header is damaged: expected a type and a size')
  }
  if (dataBytes > MAX_BLOB_BYTES) {
    throw badExtract(offset, `found a blob of ${dataBytes} bytes, expected at most ${MAX_BLOB_BYTES}`)
  }
  return { type, dataBytes }
}

/**
 * Unpacks the content of a blob.
 *
 * @throws AppError BAD_EXTRACT for any packing but zlib, and for bytes that do not unpack to the stated size
 */
export function unpackBlob({ bytes, offset }: Blob): Uint8Array {
  const pbf = new PbfReader(bytes)
  let rawSize: number | undefined
  let zlib: Uint8Array | undefined
  let raw: Uint8Array | undefined
  try {
    for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
      const packing = UNREADABLE[field]
      if (packing !== undefined) {
        throw badExtract(
          offset,
          `the blob is packed with ${packing}; only zlib and unpacked blobs can be read`,
        )
      }
      if (field === BLOB.raw) raw = pbf.readBytes()
      else if (field === BLOB.rawSize) rawSize = pbf.readVarint()
      else if (field === BLOB.zlib) zlib = pbf.readBytes()
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw badExtract(offset, `the blob cannot be read (${messageOf(error)})`, error)
  }
  if (pbf.pos !== bytes.length) throw badExtract(offset, 'the blob is damaged: a field ends behind its end')
  if (raw !== undefined) return raw
  if (zlib === undefined) throw badExtract(offset, 'the blob holds no data')
  return inflate(zlib, rawSize, offset)
}

function inflate(zlib: Uint8Array, rawSize: number | undefined, offset: number): Uint8Array {
  if (rawSize === undefined || rawSize > MAX_BLOB_BYTES) {
    throw badExtract(offset, `found an unpacked size of ${rawSize}, expected at most ${MAX_BLOB_BYTES} bytes`)
  }
  if (rawSize > MAX_HEADER_BYTES && rawSize > zlib.length * MAX_RATIO) {
    throw badExtract(
      offset,
      `${zlib.length} packed bytes claim to hold ${rawSize}: more than ${MAX_RATIO} times`,
    )
  }
  let unpacked: Uint8Array
  try {
    // one output buffer of the right size; a byte more than stated fails at once
    unpacked = inflateSync(zlib, { maxOutputLength: Math.max(rawSize, 1), chunkSize: Math.max(rawSize, 64) })
  } catch (cause) {
    throw badExtract(offset, `the blob does not unpack (${messageOf(cause)})`, cause)
  }
  if (unpacked.length !== rawSize) {
    throw badExtract(offset, `the blob unpacks to ${unpacked.length} bytes, expected ${rawSize}`)
  }
  return unpacked
}

function hashFile(fd: number, sizeBytes: number): string {
  const hash = createHash('sha256')
  const chunk = new Uint8Array(1024 * 1024)
  for (let at = 0; at < sizeBytes; ) {
    const read = readSync(fd, chunk, 0, chunk.length, at)
    if (read === 0) throw badExtract(at, 'the file became shorter while it was read')
    hash.update(chunk.subarray(0, read))
    at += read
  }
  return hash.digest('hex')
}
