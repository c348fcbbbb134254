/** Bytes of one element; elements of other sizes are handled as bytes. */
export type Width = 1 | 2 | 4 | 8

/**
 * Splits the differences of two arrays into byte planes, the lowest bytes first. The bit patterns are
 * subtracted modulo 2^width and zigzagged, a bijection for every type: −0, +0 and every NaN stay what they are.
 *
 * @param next bytes of the new array; the length is a multiple of `width`
 * @param base as long as `next`
 * @param planes as long as `next`; plane `p` begins at `p * count`
 */
export function splitDifferences(width: Width, next: Uint8Array, base: Uint8Array, planes: Uint8Array): void {
  if (width === 1) split8(next, base, planes)
  else if (width === 2) split16(next, base, planes)
  else if (width === 4) split32(next, base, planes)
  else split64(next, base, planes)
}

/** Reverses `splitDifferences`. @param next receives the new array */
export function joinDifferences(width: Width, planes: Uint8Array, base: Uint8Array, next: Uint8Array): void {
  if (width === 1) join8(planes, base, next)
  else if (width === 2) join16(planes, base, next)
  else if (width === 4) join32(planes, base, next)
  else join64(planes, base, next)
}

function split8(next: Uint8Array, base: Uint8Array, planes: Uint8Array): void {
  for (let i = 0, n = next.length; i < n; i++) {
    const difference = ((next[i]! - base[i]!) << 24) >> 24
    planes[i] = (difference << 1) ^ (difference >> 7)
  }
}

function join8(planes: Uint8Array, base: Uint8Array, next: Uint8Array): void {
  for (let i = 0, n = next.length; i < n; i++) {
    const coded = planes[i]!
    next[i] = base[i]! + ((coded >>> 1) ^ -(coded & 1))
  }
}

function split16(next: Uint8Array, base: Uint8Array, planes: Uint8Array): void {
  const count = next.length >>> 1
  for (let i = 0, at = 0; i < count; i++, at += 2) {
    const difference = (((next[at]! | (next[at + 1]! << 8)) - (base[at]! | (base[at + 1]! << 8))) << 16) >> 16
    const coded = (difference << 1) ^ (difference >> 15)
    planes[i] = coded
    planes[count + i] = coded >>> 8
  }
}

function join16(planes: Uint8Array, base: Uint8Array, next: Uint8Array): void {
  const count = next.length >>> 1
  for (let i = 0, at = 0; i < count; i++, at += 2) {
    const coded = planes[i]! | (planes[count + i]! << 8)
    const value = (base[at]! | (base[at + 1]! << 8)) + ((coded >>> 1) ^ -(coded & 1))
    next[at] = value
    next[at + 1] = value >>> 8
  }
}

function split32(next: Uint8Array, base: Uint8Array, planes: Uint8Array): void {
  const count = next.length >>> 2
  const [second, third] = [2 * count, 3 * count]
  for (let i = 0, at = 0; i < count; i++, at += 4) {
    const difference = (word(next, at) - word(base, at)) | 0
    const coded = (difference << 1) ^ (difference >> 31)
    planes[i] = coded
    planes[count + i] = coded >>> 8
    planes[second + i] = coded >>> 16
    planes[third + i] = coded >>> 24
  }
}

function join32(planes: Uint8Array, base: Uint8Array, next: Uint8Array): void {
  const count = next.length >>> 2
  const [second, third] = [2 * count, 3 * count]
  for (let i = 0, at = 0; i < count; i++, at += 4) {
    const coded =
      planes[i]! | (planes[count + i]! << 8) | (planes[second + i]! << 16) | (planes[third + i]! << 24)
    putWord(next, at, word(base, at) + ((coded >>> 1) ^ -(coded & 1)))
  }
}

function split64(next: Uint8Array, base: Uint8Array, planes: Uint8Array): void {
  const count = next.length >>> 3
  for (let i = 0, at = 0; i < count; i++, at += 8) {
    const nextLow = word(next, at) >>> 0
    const baseLow = word(base, at) >>> 0
    const low = (nextLow - baseLow) | 0
    const high = (word(next, at + 4) - word(base, at + 4) - (nextLow < baseLow ? 1 : 0)) | 0
    const sign = high >> 31
    const codedLow = (low << 1) ^ sign
    const codedHigh = ((high << 1) | (low >>> 31)) ^ sign
    for (let p = 0, shift = 0; p < 4; p++, shift += 8) {
      planes[p * count + i] = codedLow >>> shift
      planes[(p + 4) * count + i] = codedHigh >>> shift
    }
  }
}

function join64(planes: Uint8Array, base: Uint8Array, next: Uint8Array): void {
  const count = next.length >>> 3
  for (let i = 0, at = 0; i < count; i++, at += 8) {
    let codedLow = 0
    let codedHigh = 0
    for (let p = 0, shift = 0; p < 4; p++, shift += 8) {
      codedLow |= planes[p * count + i]! << shift
      codedHigh |= planes[(p + 4) * count + i]! << shift
    }
    const sign = -(codedLow & 1)
    const low = ((codedLow >>> 1) | (codedHigh << 31)) ^ sign
    const high = (codedHigh >>> 1) ^ sign
    const baseLow = word(base, at) >>> 0
    const sum = baseLow + (low >>> 0)
    putWord(next, at, sum)
    putWord(next, at + 4, word(base, at + 4) + high + (sum > 0xffff_ffff ? 1 : 0))
  }
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/** Writes the lowest 32 bits of a number. */
function putWord(bytes: Uint8Array, at: number, value: number): void {
  const bits = value | 0
  bytes[at] = bits
  bytes[at + 1] = bits >>> 8
  bytes[at + 2] = bits >>> 16
  bytes[at + 3] = bits >>> 24
}
