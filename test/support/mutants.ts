/** A changed copy of bytes, and what was changed. */
interface Mutant {
  readonly bytes: Buffer
  readonly what: string
}

/**
 * Yields changed copies of bytes: bits turned, bytes set, cut, inserted, moved, doubled. None equals the original.
 *
 * @param seed the same one gives the same mutants
 */
export function* mutants(original: Buffer, count: number, seed: number): Generator<Mutant> {
  let state = seed
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  for (let made = 0; made < count; ) {
    const at = below(8) === 0 ? below(100) : below(original.length)
    const length = 1 + below(Math.min(200, original.length - at))
    const [bytes, what] = mutate(original, below(7), {
      at,
      length,
      to: below(original.length),
      value: below(256),
    })
    if (bytes.equals(original)) continue
    made++
    yield { bytes, what: `mutant ${made}: ${what}` }
  }
}

function mutate(
  original: Buffer,
  kind: number,
  { at, length, to, value }: { at: number; length: number; to: number; value: number },
): [Buffer, string] {
  const copy = Buffer.from(original)
  const [before, piece, after] = [
    copy.subarray(0, at),
    copy.subarray(at, at + length),
    copy.subarray(at + length),
  ]
  switch (kind) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << (value & 7))
      return [copy, `bit ${value & 7} of byte ${at}`]
    case 1:
      copy.fill(value, at, at + length)
      return [copy, `${length} bytes from ${at} set to ${value}`]
    case 2:
      return [Buffer.concat([before, after]), `${length} bytes from ${at} cut out`]
    case 3:
      return [
        Buffer.concat([before, Buffer.alloc(length, value), piece, after]),
        `${length} bytes put in at ${at}`,
      ]
    case 4:
      return [Buffer.concat([before, piece, piece, after]), `${length} bytes from ${at} doubled`]
    case 5:
      return [Buffer.from(before), `cut off at ${at}`]
    default:
      piece.copy(copy, to)
      return [copy, `${length} bytes from ${at} copied to ${to}`]
  }
}
