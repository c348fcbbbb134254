import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { sourceOfBytes } from '../../../src/models/delta/byte-source.js'
import { makeDelta } from '../../../src/models/delta/make-delta.js'
import { deltaOf, digested, patched } from '../../support/deltas.js'
import { safetensors, type TensorInput } from '../../support/safetensors.js'

/** Bytes that no compression shrinks, the same for the same seed. */
function noise(length: number, seed: number): Buffer {
  const parts = Array.from({ length: Math.ceil(length / 64) }, (_, i) =>
    createHash('sha512').update(`${seed} ${i}`).digest(),
  )
  return Buffer.concat(parts).subarray(0, length)
}

const DTYPES: Record<string, number> = {
  ...{ F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2 },
  ...{ I8: 1, U8: 1, BOOL: 1, F8_E5M2: 1, F8_E4M3: 1, F4: 0.5, F6_E2M3: 0.75, C64: 8, LATER: 3 },
}

async function checkBoth(base: Uint8Array, next: Uint8Array): Promise<Buffer> {
  const delta = await deltaOf(base, next)
  if (!(await patched(base, delta)).equals(next)) throw new Error('the rebuilt bytes differ')
  return delta
}

t.test('property: any two safetensors files, any types, holes, empty and renamed arrays', async (t) => {
  const tensor = fc.record({
    name: fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'läyer'),
    dtype: fc.constantFrom(...Object.keys(DTYPES)),
    count: fc.nat(40),
    hole: fc.constantFrom(0, 0, 0, 1, 5),
    seed: fc.nat(3),
  })
  const file = fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 5 }).map((rows) =>
    safetensors(
      rows.map(({ name, dtype, count, hole, seed }): TensorInput => {
        const bytes = noise(Math.ceil(count * (DTYPES[dtype] ?? 1)), seed)
        return { name, dtype, shape: [count], bytes, hole }
      }),
    ),
  )
  const other = fc.oneof(
    file,
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(other, other, async (base, next) => void (await checkBoth(base, next))),
    { numRuns: 500 },
  )
  t.pass('500 pairs')
})

t.test('delta: bit patterns that are equal as numbers stay what they are', async (t) => {
  const words = [0x0000_0000, 0x8000_0000, 0x7fc0_0000, 0xffc0_0001, 0x7f80_0001, 0x7f80_0000, 0xff80_0000, 1]
  const shift = (by: number) =>
    new Uint8Array(Uint32Array.from(words, (_, i) => words[(i + by) % 8] ?? 0).buffer)
  const file = (by: number) => safetensors([{ name: 'w', dtype: 'F32', shape: [8], bytes: shift(by) }])
  for (let by = 0; by < 8; by++) await checkBoth(file(0), file(by))
  t.pass('−0, +0, NaNs with payloads, infinities')
})

t.test('delta: an unchanged file of any size is a few bytes', async (t) => {
  const base = noise(3_000_000, 1)
  t.ok((await checkBoth(base, base)).byteLength < 150)
  t.ok((await checkBoth(Buffer.alloc(0), Buffer.alloc(0))).byteLength < 150)
  await checkBoth(Buffer.alloc(0), base.subarray(0, 1000))
  await checkBoth(base, Buffer.alloc(0))
})

t.test('delta: an array that moved, was renamed, or is the only one that changed', async (t) => {
  const [w, v] = [noise(400_000, 1), noise(400_000, 2)]
  const row = (name: string, bytes: Uint8Array) => ({ name, dtype: 'F32', shape: [100_000], bytes })
  const base = safetensors([row('w', w), row('v', v)])
  const moved = safetensors([row('v', v), row('w', w)], { round: '2' })
  t.ok((await checkBoth(base, moved)).byteLength < 600, 'moved, with other metadata')
  const renamed = safetensors([row('w2', w), row('v', v)])
  t.ok((await checkBoth(base, renamed)).byteLength < 600, 'renamed')
  const near = Buffer.from(
    Uint32Array.from(new Uint32Array(w.buffer.slice(w.byteOffset, w.byteOffset + 400_000)), (x) => x + 1)
      .buffer,
  )
  const one = await checkBoth(base, safetensors([row('w', near), row('v', v)]))
  t.ok(one.byteLength < 1500, `${one.byteLength} bytes for one step of every weight`)
  const grown = safetensors([row('w', w), row('v', v), row('x', noise(400, 3))])
  t.ok((await checkBoth(base, grown)).byteLength < 1500, 'a new array')
})

t.test('delta: other files in blocks, with edits, insertions and removals', async (t) => {
  const base = noise(5 * 1024 * 1024 + 17, 4)
  const edited = Buffer.from(base)
  for (let i = 0; i < 50; i++) edited.write('edit', (i * 97_003) % edited.length)
  t.ok((await checkBoth(base, edited)).byteLength < 12_000)
  const inserted = Buffer.concat([base.subarray(0, 1000), Buffer.from('inserted'), base.subarray(1000)])
  t.ok((await checkBoth(base, inserted)).byteLength < 2500)
  const removed = Buffer.concat([base.subarray(0, 1000), base.subarray(100_000)])
  t.ok((await checkBoth(base, removed)).byteLength < 220_000)
  const foreign = await checkBoth(base, noise(1_500_000, 5))
  t.ok(foreign.byteLength < 1_500_300, 'foreign bytes grow by a few')
})

t.test('delta: a base that begins as a trained dictionary', async (t) => {
  const base = Buffer.concat([Buffer.from([0x37, 0xa4, 0x30, 0xec]), noise(5000, 6)])
  await checkBoth(base, Buffer.concat([base.subarray(10), Buffer.from('x')]))
  t.pass()
})

t.test('delta: headers that lie are those of other files', async (t) => {
  const good = safetensors([{ name: 'w', dtype: 'F32', shape: [4], bytes: noise(16, 1) }])
  const lies = [
    good.toString('latin1').replace('[0,16]', '[0,99]'),
    good.toString('latin1').replace('[0,16]', '[9,16]'),
    good.toString('latin1').replace('[0,16]', '[-4,8]'),
    good.toString('latin1').replace('"F32"', '12345'),
    good.toString('latin1').replace('{"w"', '[["w'),
    `${good.toString('latin1')}more`,
  ]
  for (const text of lies) {
    const bytes = Buffer.from(text, 'latin1')
    await checkBoth(bytes, good)
    await checkBoth(good, bytes)
  }
  const overlapping = Buffer.from(
    safetensors([
      { name: 'a', dtype: 'F32', shape: [4], bytes: noise(16, 1) },
      { name: 'b', dtype: 'F32', shape: [4], bytes: noise(16, 2) },
    ])
      .toString('latin1')
      .replace('[16,32]', '[08,24]'.replace('08', ' 8')),
    'latin1',
  )
  await checkBoth(overlapping, good)
  await checkBoth(good, overlapping)
  t.pass()
})

t.test('delta: a file that does not have its digest, and a caller that stops', async (t) => {
  const base = digested(noise(10, 1))
  const next = { source: sourceOfBytes(noise(10, 2)), sha256: 'ab'.repeat(32) }
  await t.rejects(Array.fromAsync(makeDelta(base, next)), /found a new file of the SHA-256/)
  const stop = () => {
    throw new Error('stopped')
  }
  await t.rejects(Array.fromAsync(makeDelta(base, digested(noise(10, 3)), stop)), /stopped/)
})
