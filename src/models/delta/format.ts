import { badDelta } from './faults.js'

/**
 * Form of a delta, all numbers little-endian:
 *
 * - head of 96 bytes: magic, version, bytes and SHA-256 of the base and of the result
 * - blocks, in the order of the result: a code, its numbers, then its data
 * - `END`, then the SHA-256 of everything before it
 *
 * A block is COPY (bytes of the base), LITERAL (bytes), PLANES (differences to bytes of the base) or
 * DICTIONARY (bytes compressed with bytes of the base). The reader knows nothing of model formats.
 */
const MAGIC = Buffer.from('FGDELTA\n', 'latin1')
const VERSION = 1

/** Bytes of the head: magic, version, 4 reserved bytes, and twice a size with a digest. */
export const HEAD_BYTES = 8 + 4 + 4 + 2 * (8 + 32)
/** Bytes of the digest at the end. */
export const TAIL_BYTES = 32

/** Longest result of one block except COPY, bytes. */
export const BLOCK_BYTES = 1024 * 1024
/** Bytes of the base before and after a block that its dictionary may hold. */
export const REACH_BYTES = 256 * 1024

/** Codes of blocks. */
export const BLOCK = { END: 0, COPY: 1, LITERAL: 2, PLANES: 3, DICTIONARY: 4 } as const

/** A file by size and digest. */
export interface FileFacts {
  readonly sizeBytes: number
  /** hex */
  readonly sha256: string
}

/** Head of a delta. */
export interface DeltaHead {
  readonly base: FileFacts
  readonly result: FileFacts
}

/** Writes the head. */
export function encodeHead({ base, result }: DeltaHead): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  MAGIC.copy(head)
  head.writeUInt32LE(VERSION, 8)
  for (const [index, { sizeBytes, sha256 }] of [base, result].entries()) {
    head.writeBigUInt64LE(BigInt(sizeBytes), 16 + index * 40)
    head.write(sha256, 24 + index * 40, 'hex')
  }
  return head
}

/** Reads the head. @throws AppError BAD_DELTA for another format, a newer version and sizes beyond 2^53 */
export function decodeHead(bytes: Uint8Array): DeltaHead {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!head.subarray(0, MAGIC.byteLength).equals(MAGIC))
    throw badDelta('found another kind of file, expected one of `fieldgate model delta`')
  const version = head.readUInt32LE(8)
  if (version !== VERSION) throw badDelta(`found the version ${version}, expected ${VERSION}`)
  if (head.readUInt32LE(12) !== 0) throw badDelta('found reserved bytes that are not zero')
  const [base, result] = [16, 56].map((at) => {
    const sizeBytes = Number(head.readBigUInt64LE(at))
    if (!Number.isSafeInteger(sizeBytes)) throw badDelta(`found a size of ${sizeBytes} bytes`)
    return { sizeBytes, sha256: head.toString('hex', at + 8, at + 40) }
  }) as [FileFacts, FileFacts]
  return { base, result }
}

/** Writes whole numbers, each in groups of 7 bits, the lowest first. */
export function encodeNumbers(code: number, ...numbers: readonly number[]): Buffer {
  const bytes = [code]
  for (const number of numbers) {
    let rest = number
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
    bytes.push(rest)
  }
  return Buffer.from(bytes)
}

/** Reads one whole number. @throws AppError BAD_DELTA for one beyond 2^53, and for one that is longer than needed */
export async function readNumber(takeByte: () => Promise<number>): Promise<number> {
  let number = 0
  for (let scale = 1; scale < 2 ** 56; scale *= 0x80) {
    const byte = await takeByte()
    number += (byte & 0x7f) * scale
    if (byte > 0x7f) continue
    if (!Number.isSafeInteger(number) || (byte === 0 && scale > 1)) break
    return number
  }
  throw badDelta('found a number that is too large or longer than needed')
}
