import { orient2d } from 'robust-predicates'
import type { Position } from './types.js'

/**
 * Returns true when a closed ring has an area: false for a point, for positions on one line, and for a line
 * that is followed there and back. Exact; linear in the positions.
 */
export function coversArea(ring: readonly Position[]): boolean {
  const sides = sidesOnce(ring)
  const first = sides[0]
  if (first === undefined) return false
  const [[ax, ay], [bx, by]] = first
  return sides.some(([, [x, y]]) => orient2d(ax, ay, bx, by, x, y) !== 0)
}

type Side = readonly [from: Position, to: Position]

/** Lists the sides of a ring, without those that it follows there and back, and without points. */
function sidesOnce(ring: readonly Position[]): Side[] {
  const open = new Map<string, Side[]>() // name of a side → the sides of that name, none of which came back
  for (let i = 0; i + 1 < ring.length; i++) {
    const from = ring[i]!
    const to = ring[i + 1]!
    if (from[0] === to[0] && from[1] === to[1]) continue
    const back = open.get(nameOf(to, from))
    if (back !== undefined && back.length > 0) back.pop()
    else open.set(nameOf(from, to), [...(open.get(nameOf(from, to)) ?? []), [from, to]])
  }
  return [...open.values()].flat()
}

function nameOf(from: Position, to: Position): string {
  return `${from[0]} ${from[1]} ${to[0]} ${to[1]}`
}
