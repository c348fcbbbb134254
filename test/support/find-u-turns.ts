/** A line of an answer that doubles back: the point before and the point where it turns. */
export interface LineUTurn {
  readonly before: readonly number[]
  readonly at: readonly number[]
}

/**
 * Finds where a leg drives back over the road it came by, from the answer's geometry alone.
 *
 * @param lines of one leg, in the order of travel
 */
export function findUTurns(lines: readonly (readonly (readonly number[])[])[]): LineUTurn[] {
  const points: (readonly number[])[] = []
  for (const point of lines.flat()) {
    const last = points.at(-1)
    if (last === undefined || !isSame(last, point)) points.push(point)
  }
  const found: LineUTurn[] = []
  for (let i = 2; i < points.length; i++) {
    const [before, at, after] = [points[i - 2]!, points[i - 1]!, points[i]!]
    if (isSame(before, after)) found.push({ before, at })
  }
  return found
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a[0] === b[0] && a[1] === b[1]
}
