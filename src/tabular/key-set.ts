const FIRST_SLOTS = 1024
const FULL = 0.6

/** A set of texts, of which 53 bits of a hash and a number each are kept: 20 to 40 bytes a text. */
export interface KeySet {
  /** Adds a text. @returns false when it is in the set */
  add(text: string): boolean
  /** Adds a text with a number. @returns number of the same text that was added first; undefined when it is new */
  put(text: string, number: number): number | undefined
  size(): number
}

/** Creates an empty set. Two different texts of a million are taken for one with a chance of 1 to 20,000. */
export function createKeySet(): KeySet {
  let slots = FIRST_SLOTS
  let hashes = new Float64Array(slots)
  let numbers = new Uint32Array(slots)
  let size = 0
  const slotOf = (hash: number) => {
    let slot = hash % slots
    for (let found = hashes[slot]; found !== 0 && found !== hash; found = hashes[slot])
      slot = slot + 1 === slots ? 0 : slot + 1
    return slot
  }
  const grow = () => {
    const [oldHashes, oldNumbers] = [hashes, numbers]
    slots *= 2
    hashes = new Float64Array(slots)
    numbers = new Uint32Array(slots)
    oldHashes.forEach((hash, at) => {
      if (hash === 0) return
      const slot = slotOf(hash)
      hashes[slot] = hash
      numbers[slot] = oldNumbers[at] ?? 0
    })
  }
  const put = (text: string, number: number) => {
    const hash = hashOf(text)
    const slot = slotOf(hash)
    if (hashes[slot] === hash) return numbers[slot]
    hashes[slot] = hash
    numbers[slot] = number
    size++
    if (size > slots * FULL) grow()
    return undefined
  }
  return { put, add: (text) => put(text, 1) === undefined, size: () => size }
}

/** 53 bits of two multiplicative hashes with different factors; never 0. */
function hashOf(text: string): number {
  let a = 0x9e3779b9
  let b = 0x85ebca6b ^ text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x5bd1e995)
    b ^= b >>> 15
  }
  a = mixed(a ^ (b << 7))
  b = mixed(b ^ (a >>> 9))
  const hash = (a & 0x1fffff) * 0x1_0000_0000 + (b >>> 0)
  return hash === 0 ? 1 : hash
}

/** Finalizer of MurmurHash3: every bit of the input changes half of the bits of the output. */
function mixed(value: number): number {
  let x = value
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return x ^ (x >>> 16)
}
