import fc from 'fast-check'
import t from 'tap'
import { joinDifferences, splitDifferences, type Width } from '../../../src/models/delta/planes.js'

const WIDTHS: readonly Width[] = [1, 2, 4, 8]

function roundTrip(
  width: Width,
  next: Uint8Array,
  base: Uint8Array,
): { planes: Uint8Array; again: Uint8Array } {
  const planes = new Uint8Array(next.length).fill(0x55)
  splitDifferences(width, next, base, planes)
  const again = new Uint8Array(next.length).fill(0xaa)
  joinDifferences(width, planes, base, again)
  return { planes, again }
}

t.test('property: differences of any bit patterns are joined to the same bytes', async (t) => {
  for (const width of WIDTHS) {
    const bytes = fc
      .uint8Array({ minLength: 0, maxLength: 40 })
      .map((all) => all.slice(0, all.length - (all.length % width)))
    fc.assert(
      fc.property(bytes, fc.infiniteStream(fc.nat(255)), (next, stream) => {
        const base = Uint8Array.from(next, () => stream.next().value)
        t.same(roundTrip(width, next, base).again, next)
      }),
      { numRuns: 300 },
    )
  }
  t.pass('all widths')
})

t.test('planes: edges of every width, as a slow oracle computes them', async (t) => {
  const edges = [
    0n,
    1n,
    2n,
    0x7fn,
    0x80n,
    0xffn,
    0x7fffn,
    0x8000n,
    0xffffn,
    0x7fff_ffffn,
    0x8000_0000n,
    0xffff_ffffn,
  ]
  const wide = [...edges, 0x1_0000_0000n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n]
  for (const width of WIDTHS) {
    const bits = BigInt(width * 8)
    for (const a of wide)
      for (const b of wide) {
        const [next, base] = [bytesOf(a, width), bytesOf(b, width)]
        const difference = BigInt.asIntN(width * 8, a - b)
        const coded = BigInt.asUintN(width * 8, (difference << 1n) ^ (difference >> (bits - 1n)))
        const { planes, again } = roundTrip(width, next, base)
        t.same([planes, again], [bytesOf(coded, width), next], `${width}: ${a} − ${b}`)
      }
  }
})

t.test('planes: small differences of either sign leave the high planes empty', async (t) => {
  const base = Float32Array.from({ length: 100 }, (_, i) => i * 0.5 - 20)
  const next = new Int32Array(base.buffer.slice(0)).map((bits, i) => bits + (i % 2 === 0 ? 3 : -3))
  const { planes } = roundTrip(4, new Uint8Array(next.buffer), new Uint8Array(base.buffer))
  t.ok(planes.subarray(100).every((byte) => byte === 0))
  t.same(new Set(planes.subarray(0, 100)), new Set([5, 6]))
})

/** Writes the lowest bytes of a number, the lowest first. */
function bytesOf(value: bigint, width: number): Uint8Array {
  return Uint8Array.from({ length: width }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))
}
