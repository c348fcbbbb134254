import { createHash } from 'node:crypto'
import { type ByteSource, readInOrder, type SequentialReader } from './byte-source.js'
import { decompress } from './coding.js'
import { badDelta } from './faults.js'
import {
  BLOCK,
  BLOCK_BYTES,
  type DeltaHead,
  decodeHead,
  HEAD_BYTES,
  REACH_BYTES,
  readNumber,
  TAIL_BYTES,
} from './format.js'
import type { DigestedSource } from './make-delta.js'
import { joinDifferences, type Width } from './planes.js'

interface ApplyOptions {
  /** largest result, bytes */
  readonly maxBytes: number
  /** called before each block; what it throws ends the work */
  onBlock?(): void
}

/** State of a delta that is being applied. */
interface Application {
  readonly reader: SequentialReader
  readonly base: ByteSource
  readonly onBlock: () => void
  /** bytes of the result that are missing */
  left: number
}

/**
 * Applies a delta: yields the bytes of the new file, the last of them only when all have their SHA-256. Holds
 * a few blocks of 1 MiB, whatever the delta says.
 *
 * @throws AppError BAD_DELTA for another base, a damaged delta, and a result that is not the one promised
 */
export async function* applyDelta(
  base: DigestedSource,
  delta: AsyncIterable<Uint8Array>,
  options: ApplyOptions,
): AsyncGenerator<Uint8Array> {
  const sum = createHash('sha256')
  const reader = readInOrder(delta, (bytes) => sum.update(bytes))
  try {
    const head = decodeHead(await reader.take(HEAD_BYTES))
    checkHead(head, base, options.maxBytes)
    const hash = createHash('sha256')
    let last: Uint8Array | undefined
    for await (const bytes of blocksOf(reader, base.source, head, options)) {
      hash.update(bytes)
      if (last !== undefined) yield last
      last = bytes
    }
    const expectedSum = sum.copy().digest()
    if (!expectedSum.equals(await reader.take(TAIL_BYTES)))
      throw badDelta('found a wrong checksum at its end')
    if (!(await reader.isAtEnd())) throw badDelta('found bytes after its end')
    const found = hash.digest('hex')
    if (found !== head.result.sha256)
      throw badDelta(`found a result of the SHA-256 ${found}, expected ${head.result.sha256}`)
    if (last !== undefined) yield last
  } finally {
    await reader.close()
  }
}

/** Reads the head of a delta. @throws AppError BAD_DELTA */
export async function readDeltaHead(delta: AsyncIterable<Uint8Array>): Promise<DeltaHead> {
  const reader = readInOrder(delta, () => undefined)
  try {
    return decodeHead(await reader.take(HEAD_BYTES))
  } finally {
    await reader.close()
  }
}

function checkHead({ base: wanted, result }: DeltaHead, base: DigestedSource, maxBytes: number): void {
  if (wanted.sha256 !== base.sha256)
    throw badDelta(`found a base of the SHA-256 ${base.sha256}, expected ${wanted.sha256}`)
  if (wanted.sizeBytes !== base.source.sizeBytes)
    throw badDelta(`found a base of ${base.source.sizeBytes} bytes, expected ${wanted.sizeBytes}`)
  if (result.sizeBytes > maxBytes)
    throw badDelta(`found a result of ${result.sizeBytes} bytes, expected at most ${maxBytes}`)
}

async function* blocksOf(
  reader: SequentialReader,
  base: ByteSource,
  { result }: DeltaHead,
  { onBlock = () => undefined }: ApplyOptions,
): AsyncGenerator<Uint8Array> {
  const at: Application = { reader, base, onBlock, left: result.sizeBytes }
  for (;;) {
    at.onBlock()
    const code = await byteOf(reader)
    if (code === BLOCK.END) break
    if (code === BLOCK.COPY) yield* copied(at)
    else yield await rebuilt(at, code)
  }
  if (at.left !== 0) throw badDelta(`found its end ${at.left} bytes before that of the result`)
}

async function* copied(at: Application): AsyncGenerator<Uint8Array> {
  const from = await numberOf(at.reader)
  const length = takeLength(at, await numberOf(at.reader), Number.MAX_SAFE_INTEGER)
  requireBase(at, from, length)
  for (let done = 0; done < length; done += BLOCK_BYTES) {
    at.onBlock()
    yield await readBase(at, from + done, Math.min(BLOCK_BYTES, length - done))
  }
}

async function rebuilt(at: Application, code: number): Promise<Uint8Array> {
  const { reader } = at
  if (code !== BLOCK.LITERAL && code !== BLOCK.PLANES && code !== BLOCK.DICTIONARY)
    throw badDelta(`found a block of the kind ${code}`)
  const length = takeLength(at, await numberOf(reader), BLOCK_BYTES)
  if (code === BLOCK.LITERAL) return await readData(reader, length)
  if (code === BLOCK.PLANES) return await readPlanes(at, length)
  const from = await numberOf(reader)
  const dictionaryBytes = await numberOf(reader)
  if (dictionaryBytes > BLOCK_BYTES + 2 * REACH_BYTES)
    throw badDelta(`found a dictionary of ${dictionaryBytes} bytes`)
  const packedBytes = await numberOf(reader)
  if (packedBytes >= length) throw badDelta('found compressed bytes that are not fewer')
  const dictionary = await readBase(at, from, dictionaryBytes)
  return decompress(await reader.take(packedBytes), length, dictionary)
}

async function readPlanes(at: Application, length: number): Promise<Uint8Array> {
  const width = await numberOf(at.reader)
  if (!isWidth(width) || length % width !== 0)
    throw badDelta(`found elements of ${width} bytes in a block of ${length}`)
  const base = await readBase(at, await numberOf(at.reader), length)
  const planes = new Uint8Array(length)
  const count = length / width
  for (let done = 0; done < length; done += count) planes.set(await readData(at.reader, count), done)
  const next = new Uint8Array(length)
  joinDifferences(width, planes, base, next)
  return next
}

function isWidth(width: number): width is Width {
  return width === 1 || width === 2 || width === 4 || width === 8
}

/** Reads data of a known size: 0 and the bytes, or the size of the compressed bytes and these. */
async function readData(reader: SequentialReader, length: number): Promise<Uint8Array> {
  const packedBytes = await numberOf(reader)
  if (packedBytes === 0) return await reader.take(length)
  if (packedBytes >= length) throw badDelta('found compressed bytes that are not fewer')
  return decompress(await reader.take(packedBytes), length)
}

/** Takes the bytes of a block from what is missing of the result. */
function takeLength(at: Application, length: number, most: number): number {
  if (length === 0 || length > most) throw badDelta(`found a block of ${length} bytes, expected 1 to ${most}`)
  if (length > at.left)
    throw badDelta(
      `found a block of ${length} bytes, expected at most the ${at.left} that the result still needs`,
    )
  at.left -= length
  return length
}

async function readBase(at: Application, from: number, length: number): Promise<Uint8Array> {
  requireBase(at, from, length)
  const bytes = new Uint8Array(length)
  await at.base.read(from, bytes)
  return bytes
}

function requireBase({ base }: Application, from: number, length: number): void {
  if (from + length > base.sizeBytes)
    throw badDelta(`found bytes ${from} to ${from + length} of a base of ${base.sizeBytes}`)
}

async function byteOf(reader: SequentialReader): Promise<number> {
  return (await reader.take(1))[0] ?? 0
}

function numberOf(reader: SequentialReader): Promise<number> {
  return readNumber(() => byteOf(reader))
}
