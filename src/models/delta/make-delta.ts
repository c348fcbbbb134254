import { createHash } from 'node:crypto'
import type { ByteSource } from './byte-source.js'
import { compress } from './coding.js'
import { BLOCK, BLOCK_BYTES, encodeHead, encodeNumbers, type FileFacts, REACH_BYTES } from './format.js'
import { splitDifferences, type Width } from './planes.js'
import { type Region, regionsOf } from './regions.js'

/** A file with its digest. */
export interface DigestedSource {
  readonly source: ByteSource
  /** hex */
  readonly sha256: string
}

/** Block of a delta: a copy that may still grow, or bytes to write. */
type Step =
  | { readonly copy: { offset: number; length: number } }
  | { readonly bytes: readonly Uint8Array[]; readonly length: number }

/**
 * Makes a delta that turns `base` into `next`. Holds a few blocks of 1 MiB; synchronous for about 10 ms a
 * block, so it belongs into a worker thread. About 200 MB/s on a core of 2026.
 *
 * @param onBlock called before each block; what it throws ends the work
 * @throws Error when `next` does not have its digest
 */
export async function* makeDelta(
  base: DigestedSource,
  next: DigestedSource,
  onBlock: () => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  const sum = createHash('sha256')
  const summed = (bytes: Uint8Array) => {
    sum.update(bytes)
    return bytes
  }
  yield summed(encodeHead({ base: factsOf(base), result: factsOf(next) }))
  let copy = { offset: 0, length: 0 }
  for await (const step of stepsOf(base, next, onBlock)) {
    if ('copy' in step && copy.offset + copy.length === step.copy.offset) {
      copy.length += step.copy.length
      continue
    }
    if (copy.length > 0) yield summed(encodeNumbers(BLOCK.COPY, copy.offset, copy.length))
    copy = 'copy' in step ? step.copy : { offset: 0, length: 0 }
    if ('bytes' in step) for (const bytes of step.bytes) yield summed(bytes)
  }
  if (copy.length > 0) yield summed(encodeNumbers(BLOCK.COPY, copy.offset, copy.length))
  yield summed(encodeNumbers(BLOCK.END))
  yield sum.digest()
}

function factsOf({ source, sha256 }: DigestedSource): FileFacts {
  return { sizeBytes: source.sizeBytes, sha256 }
}

async function* stepsOf(
  base: DigestedSource,
  next: DigestedSource,
  onBlock: () => void,
): AsyncGenerator<Step> {
  const { sizeBytes } = next.source
  if (base.sha256 === next.sha256) {
    if (sizeBytes > 0) yield { copy: { offset: 0, length: sizeBytes } }
    return
  }
  const hash = createHash('sha256')
  yield* blocksOf(base.source, next.source, onBlock, (bytes) => hash.update(bytes))
  const found = hash.digest('hex')
  if (found !== next.sha256)
    throw new Error(`found a new file of the SHA-256 ${found}, expected ${next.sha256}`)
}

async function* blocksOf(
  base: ByteSource,
  next: ByteSource,
  onBlock: () => void,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<Step> {
  const scratch = createScratch()
  for (const region of await regionsOf(base, next)) {
    for (let done = 0; done < region.length; done += BLOCK_BYTES) {
      onBlock()
      const length = Math.min(BLOCK_BYTES, region.length - done)
      const bytes = scratch.next.subarray(0, length)
      await next.read(region.offset + done, bytes)
      onBytes(bytes)
      yield await blockOf(base, region, { done, bytes }, scratch)
    }
  }
}

type Scratch = ReturnType<typeof createScratch>

/** Memory that all blocks share. */
function createScratch() {
  return {
    next: Buffer.alloc(BLOCK_BYTES),
    planes: Buffer.alloc(BLOCK_BYTES),
    base: Buffer.alloc(BLOCK_BYTES + 2 * REACH_BYTES),
  }
}

/** @param done bytes of the region before the block */
async function blockOf(
  base: ByteSource,
  region: Region,
  { done, bytes }: { done: number; bytes: Uint8Array },
  scratch: Scratch,
): Promise<Step> {
  const offset = region.baseOffset + done
  const reach = region.width === null ? REACH_BYTES : 0
  const from = Math.max(0, offset - reach)
  const to = Math.min(base.sizeBytes, offset + bytes.byteLength + reach)
  if (to <= from) return literal(bytes)
  const around = scratch.base.subarray(0, to - from)
  await base.read(from, around)
  const same = around.subarray(offset - from, offset - from + bytes.byteLength)
  if (same.byteLength === bytes.byteLength && same.equals(bytes))
    return { copy: { offset, length: bytes.byteLength } }
  if (region.width !== null) return differences(region.width, bytes, same, offset, scratch.planes)
  const packed = compress(bytes, around)
  if (packed === undefined) return literal(bytes)
  const head = encodeNumbers(BLOCK.DICTIONARY, bytes.byteLength, from, to - from, packed.byteLength)
  return { bytes: [head, packed], length: bytes.byteLength }
}

function literal(bytes: Uint8Array): Step {
  const head = encodeNumbers(BLOCK.LITERAL, bytes.byteLength)
  return { bytes: [head, ...dataOf(bytes)], length: bytes.byteLength }
}

function differences(
  width: Width,
  bytes: Uint8Array,
  base: Uint8Array,
  offset: number,
  scratch: Uint8Array,
): Step {
  const { byteLength } = bytes
  const planes = scratch.subarray(0, byteLength)
  splitDifferences(width, bytes, base, planes)
  const count = byteLength / width
  const parts: Uint8Array[] = [encodeNumbers(BLOCK.PLANES, byteLength, width, offset)]
  for (let at = 0; at < byteLength; at += count) parts.push(...dataOf(planes.subarray(at, at + count)))
  return { bytes: parts, length: byteLength }
}

/** Data of known size: 0 and the bytes, or the size of the compressed bytes and these. */
function dataOf(bytes: Uint8Array): Uint8Array[] {
  const packed = compress(bytes)
  // copied, because the scratch is written again before the caller has used it
  return packed === undefined
    ? [encodeNumbers(0), Buffer.from(bytes)]
    : [encodeData(packed.byteLength), packed]
}

function encodeData(length: number): Uint8Array {
  return encodeNumbers(0, length).subarray(1)
}
