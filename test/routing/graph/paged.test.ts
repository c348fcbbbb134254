import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import {
  bytesOfStored,
  createPages,
  doubleAt,
  isZeroAt,
  numberAt,
  numbersOf,
  offsetAt,
  PAGE_BYTES,
  type Pages,
  pageSection,
  readPiece,
  withBits,
  withSteps,
} from '../../../src/routing/graph/paged.js'
import { createRandom } from '../../support/random.js'

/** A file in memory, with pages of it. */
function createFile(bytes: Uint8Array, frames: number): { pages: Pages; bytes: Uint8Array } {
  const read = (offset: number, into: Uint8Array) => into.set(bytes.subarray(offset, offset + into.length))
  const changed = (offset: number) => new Error(`changed at ${offset}`)
  return { bytes, pages: createPages({ fd: -1, read, crc32, changed }, frames * PAGE_BYTES) }
}

/** Random bytes of some pages; sections begin at multiples of 8. */
function randomBytes(seed: number, size: number): Uint8Array {
  const random = createRandom(seed)
  return Uint8Array.from({ length: size }, () => random() * 256)
}

t.test('property: numbers and pieces of sections are those of the file, with few frames', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 4 }), (seed, frames) => {
      const random = createRandom(seed)
      const pick = (count: number) => Math.floor(random() * count)
      const size = (1 + pick(5 * PAGE_BYTES)) * 8
      const { bytes, pages } = createFile(randomBytes(seed, size * 3), frames)
      const words = new Uint32Array(bytes.buffer, 0, size / 4)
      const doubles = new Float64Array(bytes.buffer, size, size / 8)
      const text = bytes.subarray(size * 2, size * 3 - pick(8))
      const paged = {
        words: pageSection(pages, words, 0),
        doubles: pageSection(pages, doubles, size),
        text: pageSection(pages, text, size * 2),
      }
      const piece = { bytes, at: 0 }
      for (let i = 0; i < 200; i++) {
        const [word, double] = [pick(words.length), pick(doubles.length)]
        if (numberAt(paged.words, word) !== words[word]) return false
        if (!Object.is(doubleAt(paged.doubles, double), doubles[double])) return false
        const from = pick(text.length + 1)
        const end = from + Math.min(text.length - from, pick(i % 10 === 0 ? 3 * PAGE_BYTES : 300))
        readPiece(paged.text, from, end, piece)
        const found = piece.bytes.subarray(piece.at, piece.at + end - from)
        if (Buffer.compare(found, text.subarray(from, end)) !== 0) return false
      }
      return (
        Buffer.compare(bytesOfStored(paged.text), text) === 0 &&
        Buffer.compare(bytesOfStored(numbersOf(paged.words)), bytesOfStored(words)) === 0
      )
    }),
    { numRuns: 60 },
  )
})

t.test('property: bits and steps answer as the numbers do', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 })), { minLength: 1 }),
      (sizes) => {
        const offsets = Uint32Array.from([0, ...sizes])
        for (let at = 1; at < offsets.length; at++) offsets[at]! += offsets[at - 1]!
        const sparse = Uint32Array.from(sizes)
        const bytes = new Uint8Array([...bytesOfStored(offsets), ...bytesOfStored(sparse)])
        const { pages } = createFile(bytes, 2)
        const steps = withSteps(pageSection(pages, offsets, 0), offsets)
        const bits = withBits(pageSection(pages, sparse, offsets.byteLength), sparse)
        const isRight = (at: number) =>
          offsetAt(steps, at) === offsets[at] &&
          offsetAt(offsets, at) === offsets[at] &&
          (at >= sparse.length || isZeroAt(bits, at) === (sparse[at] === 0)) &&
          (at >= sparse.length || isZeroAt(sparse, at) === (sparse[at] === 0))
        return [...offsets.keys()].every(isRight)
      },
    ),
  )
})

t.test('pages: a page that is used again and again stays, and few frames are filled', async (t) => {
  const { bytes, pages } = createFile(randomBytes(7, 100 * PAGE_BYTES), 10)
  const words = new Uint32Array(bytes.buffer)
  const paged = pageSection(pages, words, 0)
  for (let page = 1; page < 100; page++) {
    numberAt(paged, (page * PAGE_BYTES) / 4)
    numberAt(paged, 3)
  }
  t.equal(pages.readCount, 100, 'page 0 was read once')
  t.equal(pages.frameCount, 10)
})

t.test('pages: bytes that differ from those of the opening are an error each time', async (t) => {
  const { bytes, pages } = createFile(randomBytes(7, 2 * PAGE_BYTES), 1)
  const paged = pageSection(pages, new Uint32Array(bytes.buffer), 0)
  const known = numberAt(paged, 0)
  bytes[PAGE_BYTES + 5]! ^= 1
  t.throws(() => numberAt(paged, 1024), { message: 'changed at 4096' })
  t.throws(() => numberAt(paged, 1025), { message: 'changed at 4096' })
  t.throws(() => bytesOfStored(paged), { message: 'changed at 4096' })
  t.equal(numberAt(paged, 0), known, 'other pages are still read')
})
