/** Cells along one side of the grid that the curve fills: order 16. */
export const HILBERT_SIDE = 65_536

/**
 * Position of a cell on the Hilbert curve of order 16, which gives cells that lie close together close
 * numbers.
 *
 * The curve visits the quarters of the square in the order south-west, north-west, north-east, south-east,
 * and each quarter in turn the same way; in the two southern quarters the curve is reflected.
 *
 * @param x column, 0 to 65535
 * @param y row, 0 to 65535
 * @returns 0 to 2^32 - 1
 * @see D. Hilbert, "Ueber die stetige Abbildung einer Linie auf ein Flächenstück", 1891
 * @see H. S. Warren, "Hacker's Delight", 2nd edition, section 16-2
 */
export function hilbert(x: number, y: number): number {
  let position = 0
  let column = x
  let row = y
  for (let half = HILBERT_SIDE / 2; half >= 1; half /= 2) {
    const isEast = (column & half) !== 0
    const isNorth = (row & half) !== 0
    const quarter = isEast ? (isNorth ? 2 : 3) : isNorth ? 1 : 0
    position += half * half * quarter
    if (isNorth) continue
    // higher bits flip too, but only lower ones are read from here on
    const reflected = isEast ? HILBERT_SIDE - 1 - row : row
    row = isEast ? HILBERT_SIDE - 1 - column : column
    column = reflected
  }
  return position
}
