import type { Box } from './clip-vertices.js'

/** Sea of an extract. */
export interface Sea {
  /** x, y …, the first point repeated; under the even-odd rule. Empty when the coast does not close */
  readonly rings: number[][]
  /** coast as lines, x, y …: all of it where it does not close */
  readonly lines: number[][]
  /** why there is no area; undefined when there is one, or no coast */
  readonly fault: string | undefined
}

/** Distance from the border up to which the end of a coast is extended to it, as a share of the box's side. */
const NEAR_BORDER = 0.01

/** Chain of the coast inside the box, with the places of its ends on the border. */
interface Crossing {
  readonly points: number[]
  /** 0 to 4 clockwise from the north-west corner; undefined for an end inside */
  readonly enters: number | undefined
  readonly leaves: number | undefined
}

/**
 * Fills the sea inside a box. Along a coastline the water is on the right. Chains are cut to the box, and each is
 * continued clockwise along its border, where the water stays on the right, to the place where the next one
 * enters. When a chain ends inside the box, or two neighbours on the border contradict each other, nothing is
 * filled.
 *
 * @param rings closed coastlines, x, y … with the first point repeated: islands, or water inside of land
 * @param chains open coastlines
 * @param box minX, minY, maxX, maxY; y grows to the south
 * @see https://wiki.openstreetmap.org/wiki/Tag:natural=coastline
 */
export function fillSea(rings: readonly number[][], chains: readonly number[][], box: Box): Sea {
  const lines = [...rings, ...chains]
  if (lines.length === 0) return { rings: [], lines: [], fault: undefined }
  const crossings = [...rings, ...chains.map((chain) => reachBorder(chain, box))].flatMap((line) =>
    cutToBox(line, box),
  )
  const inner = rings.filter((ring) => isWithin(ring, box))
  const crossing = crossings.filter(({ points }) => !inner.includes(points))
  const ended = crossing.find(({ enters, leaves }) => enters === undefined || leaves === undefined)
  if (ended !== undefined) return { rings: [], lines, fault: 'the coastline ends inside the extract' }
  if (crossing.length === 0 && inner.length === 0) return { rings: [], lines: [], fault: undefined }
  const closed = connect(crossing as Required<Crossing>[], box)
  if (closed === undefined)
    return { rings: [], lines, fault: 'neighbouring coastlines have the water on different sides' }
  // islands alone: all around them is sea
  const isAllSea = crossing.length === 0 && inner.every((ring) => isIsland(ring) || isInIsland(ring, inner))
  return { rings: [...(isAllSea ? [boxRing(box)] : []), ...closed, ...inner], lines: [], fault: undefined }
}

/**
 * Extends the ends of a chain that lie just inside the box to its border: an extract holds whole segments, so its
 * coast ends up to a segment short of it.
 */
function reachBorder(chain: number[], box: Box): number[] {
  const last = chain.length - 2
  const start = borderNear(chain[0]!, chain[1]!, box)
  const end = borderNear(chain[last]!, chain[last + 1]!, box)
  return [...(start ?? []), ...chain, ...(end ?? [])]
}

/** Returns the nearest point of the border; undefined for a point outside, or far from it. */
function borderNear(x: number, y: number, [minX, minY, maxX, maxY]: Box): [number, number] | undefined {
  if (x <= minX || x >= maxX || y <= minY || y >= maxY) return undefined
  const gaps = [y - minY, maxX - x, maxY - y, x - minX]
  const gap = Math.min(...gaps)
  if (gap > NEAR_BORDER * Math.min(maxX - minX, maxY - minY)) return undefined
  const places: [number, number][] = [
    [x, minY],
    [maxX, y],
    [x, maxY],
    [minX, y],
  ]
  return places[gaps.indexOf(gap)]
}

function isWithin(line: readonly number[], [minX, minY, maxX, maxY]: Box): boolean {
  for (let at = 0; at < line.length; at += 2) {
    const x = line[at]!
    const y = line[at + 1]!
    if (x <= minX || x >= maxX || y <= minY || y >= maxY) return false
  }
  return true
}

/** Returns the parts of a line inside the box; a ring inside it as one part, the same array. */
function cutToBox(line: number[], box: Box): Crossing[] {
  if (isWithin(line, box)) return [{ points: line, enters: undefined, leaves: undefined }]
  const parts: Crossing[] = []
  let points: number[] = []
  let enters: number | undefined
  const end = () => {
    const last = points.length - 2
    if (last >= 2) parts.push({ points, enters, leaves: placeOf(points[last]!, points[last + 1]!, box) })
    points = []
    enters = undefined
  }
  for (let at = 2; at < line.length; at += 2) {
    const [x0, y0, x1, y1] = [line[at - 2]!, line[at - 1]!, line[at]!, line[at + 1]!]
    const [from, to] = insideSpan(x0, y0, x1 - x0, y1 - y0, box)
    if (from >= to) {
      end()
      continue
    }
    if (from > 0 || points.length === 0) {
      end()
      const start = onBorder(x0 + from * (x1 - x0), y0 + from * (y1 - y0), box, from > 0)
      points.push(start.x, start.y)
      enters = start.place
    }
    const stop = onBorder(x0 + to * (x1 - x0), y0 + to * (y1 - y0), box, to < 1)
    points.push(stop.x, stop.y)
    if (to < 1) end()
  }
  end()
  return joinAtStart(parts, line)
}

/** Joins the last part of a ring that begins inside the box to its first one. */
function joinAtStart(parts: Crossing[], line: readonly number[]): Crossing[] {
  const first = parts[0]
  const last = parts[parts.length - 1]
  const isRing = line[0] === line[line.length - 2] && line[1] === line[line.length - 1]
  if (!isRing || first === undefined || last === undefined || first === last) return parts
  if (first.enters !== undefined || last.leaves !== undefined) return parts
  const joined = {
    points: [...last.points, ...first.points.slice(2)],
    enters: last.enters,
    leaves: first.leaves,
  }
  return [joined, ...parts.slice(1, -1)]
}

/** Shares of a segment between which it lies inside; the first is not smaller when none does. */
function insideSpan(
  x0: number,
  y0: number,
  dx: number,
  dy: number,
  [minX, minY, maxX, maxY]: Box,
): [number, number] {
  let from = 0
  let to = 1
  const borders = [-dx, x0 - minX, dx, maxX - x0, -dy, y0 - minY, dy, maxY - y0]
  for (let i = 0; i < 8; i += 2) {
    const outward = borders[i]!
    const room = borders[i + 1]!
    if (outward === 0) {
      if (room <= 0) return [1, 0] // along the border or outside
      continue
    }
    if (outward < 0) from = Math.max(from, room / outward)
    else to = Math.min(to, room / outward)
  }
  return [from, to]
}

/** Moves a point to the border where it was cut, and returns its place there. */
function onBorder(x: number, y: number, box: Box, isCut: boolean) {
  if (!isCut) return { x, y, place: placeOf(x, y, box) }
  const [minX, minY, maxX, maxY] = box
  const gaps = [y - minY, maxX - x, maxY - y, x - minX].map(Math.abs)
  const side = gaps.indexOf(Math.min(...gaps))
  const exact =
    side === 0 ? { x, y: minY } : side === 1 ? { x: maxX, y } : side === 2 ? { x, y: maxY } : { x: minX, y }
  return { ...exact, place: placeOf(exact.x, exact.y, box) }
}

/** Place of a point on the border, 0 to 4 clockwise from the north-west corner; undefined inside. */
function placeOf(x: number, y: number, [minX, minY, maxX, maxY]: Box): number | undefined {
  if (y === minY) return (x - minX) / (maxX - minX)
  if (x === maxX) return 1 + (y - minY) / (maxY - minY)
  if (y === maxY) return 2 + (maxX - x) / (maxX - minX)
  if (x === minX) return 3 + (maxY - y) / (maxY - minY)
  return undefined
}

/** Closes chains along the border. @returns undefined when entries and exits do not alternate */
function connect(chains: readonly Required<Crossing>[], box: Box): number[][] | undefined {
  const ends = chains
    .flatMap((chain, index) => [
      { place: chain.enters!, index, isEntry: true },
      { place: chain.leaves!, index, isEntry: false },
    ])
    // where a chain leaves at the place at which another enters, it continues there
    .sort((a, b) => a.place - b.place || Number(a.isEntry) - Number(b.isEntry) || a.index - b.index)
  if (ends.some((end, i) => end.isEntry === ends[(i + 1) % ends.length]!.isEntry)) return undefined
  const follower = new Map<number, number>()
  for (const [i, end] of ends.entries()) {
    if (!end.isEntry) follower.set(end.index, ends[(i + 1) % ends.length]!.index)
  }
  const isUsed = new Uint8Array(chains.length)
  const rings: number[][] = []
  for (const first of chains.keys()) {
    if (isUsed[first] === 1) continue
    const ring: number[] = []
    for (let at = first; isUsed[at] === 0; ) {
      isUsed[at] = 1
      const next = follower.get(at)!
      for (const value of chains[at]!.points) ring.push(value)
      addCorners(ring, chains[at]!.leaves!, chains[next]!.enters!, box)
      at = next
    }
    ring.push(ring[0]!, ring[1]!)
    rings.push(ring)
  }
  return rings
}

/** Adds the corners of the box between two places of its border, clockwise. */
function addCorners(ring: number[], from: number, to: number, [minX, minY, maxX, maxY]: Box): void {
  const corners = [minX, minY, maxX, minY, maxX, maxY, minX, maxY]
  const end = to < from ? to + 4 : to
  for (let corner = Math.floor(from) + 1; corner <= end; corner++) {
    ring.push(corners[(corner % 4) * 2]!, corners[(corner % 4) * 2 + 1]!)
  }
}

/** Land inside: counterclockwise on a map, which is a negative area where y grows to the south. */
function isIsland(ring: readonly number[]): boolean {
  let sum = 0
  for (let at = 2; at < ring.length; at += 2) sum += ring[at - 2]! * ring[at + 1]! - ring[at]! * ring[at - 1]!
  return sum < 0
}

/** Returns true for water inside of an island. */
function isInIsland(ring: readonly number[], rings: readonly number[][]): boolean {
  return rings.some((other) => other !== ring && isIsland(other) && hasPoint(other, ring[0]!, ring[1]!))
}

function hasPoint(ring: readonly number[], x: number, y: number): boolean {
  let isInside = false
  for (let at = 2; at < ring.length; at += 2) {
    const [ax, ay, bx, by] = [ring[at - 2]!, ring[at - 1]!, ring[at]!, ring[at + 1]!]
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isInside = !isInside
  }
  return isInside
}

function boxRing([minX, minY, maxX, maxY]: Box): number[] {
  return [minX, minY, maxX, minY, maxX, maxY, minX, maxY, minX, minY]
}
