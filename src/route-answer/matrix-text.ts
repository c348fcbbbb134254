import type { Matrix } from '../routing/search/matrix.js'
import { roundHours } from './features.js'

/**
 * Writes the result of `routing.matrix`: a row for each source, null where there is no path.
 *
 * @returns JSON text
 */
export function matrixText(map: string, matrix: Matrix): string {
  return JSON.stringify({
    map,
    costs: rowsOf(matrix, (at) => roundHours(matrix.costH[at]!)),
    times: rowsOf(matrix, (at) => roundHours(matrix.timeH[at]!)),
    lengths: rowsOf(matrix, (at) => matrix.lengthMm[at]! / 1000),
  })
}

function rowsOf({ rows, columns, costMs }: Matrix, valueAt: (at: number) => number): (number | null)[][] {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => {
      const at = row * columns + column
      return Number.isFinite(costMs[at]) ? valueAt(at) : null
    }),
  )
}
