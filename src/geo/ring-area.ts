import { orient2d } from 'robust-predicates'
import type { Position } from './types.js'

/**
 * Returns true when a closed ring has an area: false for a point, for positions on one line, and for a line
 * that is followed there and back. Exact; linear in the positions.
 */
export function coversArea(ring: readonly Position[]): boolean {
  if (hasCertainArea(ring)) return true
  const sides = sidesOnce(ring)
  const first = sides[0]
  if (first === undefined) return false
  const [[ax, ay], [bx, by]] = first
  return sides.some(([, [x, y]]) => orient2d(ax, ay, bx, by, x, y) !== 0)
}

/** Largest error of a sum of products, as a share of the sum of their absolute values, for each of them. */
const ERROR_SHARE = 2 ** -48

/**
 * Returns true when the signed area cannot be zero, whatever the rounding: positions on one line, and sides
 * that come back, add nothing to it. It is so for ordinary rings, and takes no memory.
 */
function hasCertainArea(ring: readonly Position[]): boolean {
  const [x, y] = ring[0] ?? [0, 0]
  let [sum, sumOfAbs] = [0, 0]
  for (let i = 0; i + 1 < ring.length; i++) {
    const from = ring[i]!
    const to = ring[i + 1]!
    const one = (from[0] - x) * (to[1] - y)
    const other = (to[0] - x) * (from[1] - y)
    sum += one - other
    sumOfAbs += Math.abs(one) + Math.abs(other)
  }
  return Math.abs(sum) > sumOfAbs * ERROR_SHARE * ring.length
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
    if (back !== undefined && back.length > 0) {
      back.pop()
      continue
    }
    const there = open.get(nameOf(from, to))
    if (there === undefined) open.set(nameOf(from, to), [[from, to]])
    else there.push([from, to])
  }
  return [...open.values()].flat()
}

function nameOf(from: Position, to: Position): string {
  return `${from[0]} ${from[1]} ${to[0]} ${to[1]}`
}
