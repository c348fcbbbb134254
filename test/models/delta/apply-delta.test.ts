import { createHash } from 'node:crypto'
import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import { applyDelta, readDeltaHead } from '../../../src/models/delta/apply-delta.js'
import { BLOCK, encodeHead, encodeNumbers, HEAD_BYTES } from '../../../src/models/delta/format.js'
import { deltaOf, digested, patched } from '../../support/deltas.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { safetensors } from '../../support/safetensors.js'

const weights = (step: number) =>
  new Uint8Array(Float32Array.from({ length: 3000 }, (_, i) => Math.sin(i) + step * Math.cos(i * 7)).buffer)
const tensor = (step: number) => ({ name: 'w', dtype: 'F32', shape: [3000], bytes: weights(step) })
const other = (text: string) => ({ name: 'x', dtype: 'U8', shape: [4], bytes: Buffer.from(text) })
const BASE = safetensors([tensor(0), other('same')], { round: '1' })
const NEXT = safetensors([tensor(0.001), other('same'), { ...other('more'), name: 'y' }], { round: '2' })

/** Numbers of a fixed sequence, 0 to 2^32. @see G. Marsaglia, "Xorshift RNGs", 2003 */
function xorshift(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** Writes the checksum at the end again, as an attacker would. */
function sealed(delta: Uint8Array): Buffer {
  const body = delta.subarray(0, delta.byteLength - 32)
  return Buffer.concat([body, createHash('sha256').update(body).digest()])
}

/** Applies a delta that may be hostile. @returns true when it was refused; anything but BAD_DELTA is thrown */
async function isRefused(base: Uint8Array, delta: Uint8Array): Promise<boolean> {
  try {
    const result = await patched(base, delta)
    if (!result.equals(NEXT)) throw new Error('other bytes were accepted')
    return false
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_DELTA') return true
    throw error
  }
}

t.test('apply: 1,000 mutated deltas are refused', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const random = xorshift(12_345)
  let refused = 0
  for (let i = 0; i < 1000; i++) {
    const at = random() % delta.byteLength
    const kinds = [
      () => delta.with(at, (delta[at] ?? 0) ^ (1 << (random() % 8))),
      () => delta.subarray(0, at),
      () => Buffer.concat([delta.subarray(0, at), delta.subarray(at + 1 + (random() % 50))]),
      () => Buffer.concat([delta, delta.subarray(0, 1 + (random() % 20))]),
      () => delta.map((byte, index) => (index >= at && index < at + 8 ? random() & 0xff : byte)),
    ]
    const mutant = kinds[i % kinds.length]?.() ?? delta
    if (Buffer.compare(mutant, delta) === 0) refused++
    else if (await isRefused(BASE, mutant)) refused++
    else t.fail(`mutation ${i} at ${at} was accepted`)
  }
  t.equal(refused, 1000)
})

t.test('apply: mutated deltas with a right checksum never yield other bytes', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const random = xorshift(777)
  let refused = 0
  for (let i = 0; i < 1000; i++) {
    const at = HEAD_BYTES + (random() % (delta.byteLength - HEAD_BYTES - 32))
    const mutant = Buffer.from(delta)
    for (let n = 0; n < 1 + (i % 3); n++) mutant[Math.min(at + n, delta.byteLength - 33)] = random() & 0xff
    if (await isRefused(BASE, sealed(mutant))) refused++
  }
  t.ok(refused > 950, `${refused} refused, the others are the same bytes`)
})

t.test('apply: what each fault says', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const facts = {
    base: { sizeBytes: BASE.length, sha256: digested(BASE).sha256 },
    result: { sizeBytes: 10, sha256: '00'.repeat(32) },
  }
  const made = (...blocks: Uint8Array[]) => {
    const body = Buffer.concat([encodeHead(facts), ...blocks])
    return Buffer.concat([body, createHash('sha256').update(body).digest()])
  }
  const end = encodeNumbers(BLOCK.END)
  const rows: [name: string, delta: Uint8Array, message: RegExp][] = [
    ['another file', Buffer.alloc(500), /another kind of file/],
    ['nothing', Buffer.alloc(0), /end of the delta/],
    ['a newer version', sealed(delta.with(8, 2) as Buffer), /version 2, expected 1/],
    ['reserved bytes', sealed(delta.with(12, 2) as Buffer), /reserved/],
    ['a huge size', sealed(delta.with(63, 0xff) as Buffer), /found a size/],
    ['a result beyond the limit', sealed(delta.with(60, 0xff) as Buffer), /expected at most/],
    ['another size of the base', sealed(delta.with(16, 1) as Buffer), /found a base of \d+ bytes/],
    ['an unknown block', made(Buffer.from([9])), /kind 9/],
    ['an end too early', made(end), /10 bytes before/],
    [
      'too long a copy',
      made(encodeNumbers(BLOCK.COPY, 0, 11)),
      /found a block of 11 bytes, expected at most the 10/,
    ],
    ['an empty copy', made(encodeNumbers(BLOCK.COPY, 0, 0)), /block of 0 bytes/],
    ['a copy beyond the base', made(encodeNumbers(BLOCK.COPY, BASE.length - 5, 10)), /of a base of/],
    ['too long a block', made(encodeNumbers(BLOCK.LITERAL, 2 ** 21)), /block of 2097152 bytes/],
    ['an odd width', made(encodeNumbers(BLOCK.PLANES, 9, 3, 0)), /elements of 3 bytes/],
    [
      'a width that does not divide',
      made(encodeNumbers(BLOCK.PLANES, 9, 2, 0)),
      /elements of 2 bytes in a block of 9/,
    ],
    ['planes beyond the base', made(encodeNumbers(BLOCK.PLANES, 8, 4, BASE.length)), /of a base of/],
    ['a large dictionary', made(encodeNumbers(BLOCK.DICTIONARY, 9, 0, 2 ** 22, 1)), /dictionary of/],
    ['compressed bytes that are more', made(encodeNumbers(BLOCK.DICTIONARY, 9, 0, 1, 9)), /not fewer/],
    ['compressed planes that are more', made(encodeNumbers(BLOCK.LITERAL, 9, 9)), /not fewer/],
    ['no frame', made(encodeNumbers(BLOCK.LITERAL, 9, 3), Buffer.from('abc')), /cannot be decompressed/],
    ['a long number', made(Buffer.from([BLOCK.COPY, 0x80, 0x00])), /longer than needed/],
    ['a number without an end', made(Buffer.from([BLOCK.COPY, ...Array(12).fill(0xff)])), /too large/],
    ['other bytes', made(encodeNumbers(BLOCK.COPY, 0, 10), end), /found a result of the SHA-256/],
    ['a wrong checksum', delta.with(delta.length - 1, (delta.at(-1) ?? 0) ^ 1), /wrong checksum at its end/],
    ['more bytes', Buffer.concat([delta, Buffer.from('x')]), /bytes after its end/],
  ]
  const limited = async (bytes: Uint8Array) => {
    const pieces = async function* () {
      yield bytes
    }
    await Array.fromAsync(applyDelta(digested(BASE), pieces(), { maxBytes: 1_000_000 }))
  }
  for (const [name, bytes, message] of rows) {
    t.comment(name)
    await rejectsWith(t, limited(bytes), 'BAD_DELTA', { message })
  }
  await rejectsWith(t, patched(NEXT, delta), 'BAD_DELTA', { message: /found a base of the SHA-256/ })
})

t.test('apply: a bomb is not unpacked', async (t) => {
  const { zstdCompressSync } = await import('node:zlib')
  const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
  const facts = {
    base: { sizeBytes: BASE.length, sha256: digested(BASE).sha256 },
    result: { sizeBytes: 1e6, sha256: '00'.repeat(32) },
  }
  const block = encodeNumbers(BLOCK.LITERAL, 1e6, bomb.byteLength)
  const body = Buffer.concat([encodeHead(facts), block, bomb])
  await rejectsWith(t, patched(BASE, body), 'BAD_DELTA', { message: /cannot be decompressed/ })
  const twice = Buffer.concat([zstdCompressSync(Buffer.alloc(1e6)), Buffer.from('tail')])
  const after = Buffer.concat([encodeHead(facts), encodeNumbers(BLOCK.LITERAL, 1e6, twice.byteLength), twice])
  await rejectsWith(t, patched(BASE, after), 'BAD_DELTA', { message: /cannot be decompressed/ })
})

t.test('apply: the last bytes come only when all are right', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const cut = async function* () {
    yield delta.subarray(0, delta.byteLength - 1)
  }
  let bytes = 0
  const work = (async () => {
    for await (const chunk of applyDelta(digested(BASE), cut(), { maxBytes: 1e6 })) bytes += chunk.byteLength
  })()
  await rejectsWith(t, work, 'BAD_DELTA')
  t.ok(bytes < NEXT.byteLength)
})

t.test('apply: stops where the caller wants, reads pieces of any size', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  for (const size of [1, 7, 1e6]) t.ok((await patched(BASE, delta, size)).equals(NEXT))
  const pieces = async function* () {
    yield delta
  }
  const onBlock = () => {
    throw new Error('stopped')
  }
  const work = Array.fromAsync(applyDelta(digested(BASE), pieces(), { maxBytes: 1e6, onBlock }))
  await t.rejects(work, /stopped/)
  t.match(await readDeltaHead(pieces()), {
    base: { sizeBytes: BASE.length },
    result: { sizeBytes: NEXT.length },
  })
})

t.test('apply: the source of the delta is closed, whatever happens', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  let closed = 0
  const source = async function* (bytes: Uint8Array) {
    try {
      yield bytes
      yield new Uint8Array(0)
    } finally {
      closed++
    }
  }
  await readDeltaHead(source(delta))
  await Array.fromAsync(applyDelta(digested(BASE), source(delta), { maxBytes: 1e6 }))
  await rejectsWith(
    t,
    Array.fromAsync(applyDelta(digested(NEXT), source(delta), { maxBytes: 1e6 })),
    'BAD_DELTA',
  )
  for await (const _ of applyDelta(digested(BASE), source(delta), { maxBytes: 1e6 })) break
  t.equal(closed, 4)
})
