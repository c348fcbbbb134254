import { KEPT, STRIDE, type Vertices } from './vertices.js'

/** West, north, east, south in units of the world. */
export type Box = readonly [minX: number, minY: number, maxX: number, maxY: number]

/** Returns the box of lines or rings. */
export function boxOf(parts: readonly Vertices[]): [number, number, number, number] {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const part of parts) {
    for (let at = 0; at < part.length; at += STRIDE) {
      const x = part[at]!
      const y = part[at + 1]!
      if (x < minX) minX = x
      if (x > maxX) maxX = x
      if (y < minY) minY = y
      if (y > maxY) maxY = y
    }
  }
  return [minX, minY, maxX, maxY]
}

/**
 * Cuts rings to a box. Where a ring leaves and enters again its parts are connected along the border, so the
 * rings have the right area under the even-odd rule, but edges that cover each other.
 *
 * @see I. Sutherland, G. Hodgman, "Reentrant polygon clipping", 1974
 */
export function clipRings(rings: readonly Vertices[], box: Box): Vertices[] {
  return rings.map((ring) => clipRing(ring, box)).filter((ring) => ring.length >= 4 * STRIDE)
}

function clipRing(ring: Vertices, [minX, minY, maxX, maxY]: Box): Vertices {
  const [left, top, right, bottom] = boxOf([ring])
  if (right < minX || left > maxX || bottom < minY || top > maxY) return []
  let cut = ring
  if (left < minX) cut = keepSide(cut, 0, minX, 1)
  if (right > maxX) cut = keepSide(cut, 0, maxX, -1)
  if (top < minY) cut = keepSide(cut, 1, minY, 1)
  if (bottom > maxY) cut = keepSide(cut, 1, maxY, -1)
  return cut
}

/** Keeps the part of a ring on one side of a line. @param sign 1 = greater coordinates, -1 = smaller ones */
function keepSide(ring: Vertices, axis: 0 | 1, border: number, sign: 1 | -1): Vertices {
  const kept: Vertices = []
  for (let at = STRIDE; at < ring.length; at += STRIDE) {
    const isFromIn = (ring[at - STRIDE + axis]! - border) * sign >= 0
    const isToIn = (ring[at + axis]! - border) * sign >= 0
    if (isFromIn) kept.push(ring[at - STRIDE]!, ring[at - STRIDE + 1]!, ring[at - STRIDE + 2]!)
    if (isFromIn !== isToIn) addCut(kept, ring, at, axis, border)
  }
  // closed again: the first vertex may have been cut off
  if (kept.length > 0) kept.push(kept[0]!, kept[1]!, KEPT)
  return kept
}

/** Adds the point where an edge crosses a line; exactly on it, so that neighbours agree. */
function addCut(into: Vertices, line: Vertices, at: number, axis: 0 | 1, border: number): void {
  const from = line[at - STRIDE + axis]!
  const share = (border - from) / (line[at + axis]! - from)
  const other = 1 - axis
  const value = line[at - STRIDE + other]! + share * (line[at + other]! - line[at - STRIDE + other]!)
  if (axis === 0) into.push(border, value, KEPT)
  else into.push(value, border, KEPT)
}

/** Cuts lines to a box. */
export function clipLines(lines: readonly Vertices[], box: Box): Vertices[] {
  return lines.flatMap((line) => clipLine(line, box))
}

function clipLine(line: Vertices, [minX, minY, maxX, maxY]: Box): Vertices[] {
  const [left, top, right, bottom] = boxOf([line])
  if (right < minX || left > maxX || bottom < minY || top > maxY) return []
  let cut = [line]
  if (left < minX) cut = cut.flatMap((part) => keepParts(part, 0, minX, 1))
  if (right > maxX) cut = cut.flatMap((part) => keepParts(part, 0, maxX, -1))
  if (top < minY) cut = cut.flatMap((part) => keepParts(part, 1, minY, 1))
  if (bottom > maxY) cut = cut.flatMap((part) => keepParts(part, 1, maxY, -1))
  return cut
}

function keepParts(line: Vertices, axis: 0 | 1, border: number, sign: 1 | -1): Vertices[] {
  const parts: Vertices[] = []
  let part: Vertices = []
  const end = () => {
    if (part.length >= 2 * STRIDE) parts.push(part)
    part = []
  }
  for (let at = STRIDE; at < line.length; at += STRIDE) {
    const isFromIn = (line[at - STRIDE + axis]! - border) * sign >= 0
    const isToIn = (line[at + axis]! - border) * sign >= 0
    if (isFromIn) part.push(line[at - STRIDE]!, line[at - STRIDE + 1]!, line[at - STRIDE + 2]!)
    if (isFromIn === isToIn) continue
    addCut(part, line, at, axis, border)
    if (isFromIn) end()
  }
  const last = line.length - STRIDE
  if ((line[last + axis]! - border) * sign >= 0) part.push(line[last]!, line[last + 1]!, line[last + 2]!)
  end()
  return parts
}
