/**
 * Creates an incremental SHA-256.
 *
 * The browser's `crypto.subtle` is no replacement: it exists only in secure contexts, which pages of
 * `http://host` are not, and it digests one buffer, while models can be larger than the memory of a tab. A
 * library would be larger than this file; the tests compare it with Node's digest for every length around the
 * block size.
 *
 * @see FIPS 180-4
 */
export function createSha256() {
  const state = Uint32Array.from(INITIAL)
  const block = new Uint8Array(64)
  const words = new Uint32Array(64)
  let filled = 0
  let totalBytes = 0
  return {
    update(bytes: Uint8Array): void {
      totalBytes += bytes.length
      let at = 0
      while (at < bytes.length) {
        const take = Math.min(64 - filled, bytes.length - at)
        block.set(bytes.subarray(at, at + take), filled)
        filled += take
        at += take
        if (filled < 64) return
        compress(state, words, block)
        filled = 0
      }
    },
    hex(): string {
      const bits = BigInt(totalBytes) * 8n
      this.update(Uint8Array.of(0x80))
      while (filled !== 56) this.update(Uint8Array.of(0))
      const length = new Uint8Array(8)
      new DataView(length.buffer).setBigUint64(0, bits)
      this.update(length)
      return [...state].map((word) => word.toString(16).padStart(8, '0')).join('')
    },
  }
}

/** Constants of the standard: the first 32 bits of the fractional parts of roots of the first primes. */
function roots(count: number, power: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes.map((prime) => Math.floor((prime ** power % 1) * 2 ** 32) >>> 0)
}

const INITIAL = roots(8, 1 / 2)
const CONSTANTS = Uint32Array.from(roots(64, 1 / 3))

function compress(state: Uint32Array, words: Uint32Array, block: Uint8Array): void {
  const word = (i: number) => words[i] ?? 0
  for (let i = 0; i < 16; i++) {
    const at = i * 4
    words[i] =
      ((block[at] ?? 0) << 24) |
      ((block[at + 1] ?? 0) << 16) |
      ((block[at + 2] ?? 0) << 8) |
      (block[at + 3] ?? 0)
  }
  for (let i = 16; i < 64; i++) {
    const [x, y] = [word(i - 15), word(i - 2)]
    const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)
    const s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10)
    words[i] = word(i - 16) + s0 + word(i - 7) + s1
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, k = 0] = state
  for (let i = 0; i < 64; i++) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)
    const t1 = (k + s1 + ((e & f) ^ (~e & g)) + (CONSTANTS[i] ?? 0) + word(i)) | 0
    const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    k = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const next = [a, b, c, d, e, f, g, k]
  for (let i = 0; i < 8; i++) state[i] = (state[i] ?? 0) + (next[i] ?? 0)
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}
