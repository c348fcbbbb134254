/** Cells along one side. */
export const HILBERT_SIDE = 65_536

/**
 * Position of a cell on the Hilbert curve, so that places near each other get numbers near each other.
 *
 * @param x 0 to 65535, `y` likewise
 * @returns 0 to 2^32 - 1
 * @see D. Hilbert, "Ueber die stetige Abbildung einer Linie auf ein Flächenstück", 1891
 */
export function hilbert(x: number, y: number): number {
  let position = 0
  let left = x
  let low = y
  for (let half = HILBERT_SIDE / 2; half >= 1; half /= 2) {
    const isRight = (left & half) !== 0
    const isHigh = (low & half) !== 0
    // quarters in the order of the curve: low left, high left, high right, low right
    const quarter = isRight ? (isHigh ? 2 : 3) : isHigh ? 1 : 0
    position += half * half * quarter
    if (isHigh) continue
    // the curve in the two low quarters is turned
    const turnedLeft = isRight ? HILBERT_SIDE - 1 - low : low
    low = isRight ? HILBERT_SIDE - 1 - left : left
    left = turnedLeft
  }
  return position
}
