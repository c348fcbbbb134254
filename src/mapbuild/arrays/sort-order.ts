const DIGIT_BITS = 16
const DIGITS = 1 << DIGIT_BITS

/**
 * Returns the order that sorts keys: `order[i]` is the index of the i-th smallest. Stable radix sort with two
 * passes, linear in the keys.
 *
 * @param from order to start from; to sort by several keys, sort by the least important first
 */
export function sortOrder(keys: Uint32Array, from?: Uint32Array): Uint32Array {
  const count = keys.length
  const counts = new Uint32Array(DIGITS)
  let order = from ?? Uint32Array.from({ length: 0 })
  if (from === undefined) {
    order = new Uint32Array(count)
    for (let i = 0; i < count; i++) order[i] = i
  }
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const next = new Uint32Array(count)
    counts.fill(0)
    for (let i = 0; i < count; i++) counts[(keys[i]! >>> shift) & (DIGITS - 1)]!++
    let at = 0
    for (let digit = 0; digit < DIGITS; digit++) {
      const size = counts[digit]!
      counts[digit] = at
      at += size
    }
    for (let i = 0; i < count; i++) {
      const item = order[i]!
      next[counts[(keys[item]! >>> shift) & (DIGITS - 1)]!++] = item
    }
    order = next
  }
  return order
}
