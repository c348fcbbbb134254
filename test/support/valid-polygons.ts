type Position = readonly number[]
/** Outer ring, then holes; closed. */
type Polygon = readonly (readonly Position[])[]

/** Area of a closed ring, positive where it runs counterclockwise. */
export function signedArea(ring: readonly Position[]): number {
  let double = 0
  for (const [i, [bx = 0, by = 0]] of ring.slice(1).entries()) {
    const [ax = 0, ay = 0] = ring[i] ?? []
    double += ax * by - bx * ay
  }
  return double / 2
}

/** Even-odd over all rings of a polygon. */
export function isWithin(polygon: Polygon, x: number, y: number): boolean {
  let inside = false
  for (const ring of polygon) {
    for (const [i, [bx = 0, by = 0]] of ring.slice(1).entries()) {
      const [ax = 0, ay = 0] = ring[i] ?? []
      if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside
    }
  }
  return inside
}

/**
 * Lists what is wrong with polygons by OGC 06-103r4 and RFC 7946: rings that are not closed, too short, run the
 * wrong way, or touch or cross another edge. Every edge is compared with every other one.
 */
export function faultsOf(polygons: readonly Polygon[]): string[] {
  const faults: string[] = []
  const edges: (readonly [Position, Position, ring: readonly Position[], at: number])[] = []
  for (const polygon of polygons) {
    for (const [position, ring] of polygon.entries()) {
      if (`${ring[0]}` !== `${ring.at(-1)}`) faults.push('a ring is not closed')
      if (ring.length < 4) faults.push(`a ring has ${ring.length} positions`)
      if (signedArea(ring) > 0 !== (position === 0)) faults.push(`ring ${position} runs the wrong way`)
      for (let i = 0; i + 1 < ring.length; i++) edges.push([ring[i]!, ring[i + 1]!, ring, i])
    }
  }
  for (const [i, [a, b, ring, at]] of edges.entries()) {
    for (const [c, d, other, otherAt] of edges.slice(i + 1)) {
      const gap = otherAt - at
      const isNext = ring === other && (gap === 1 || gap === ring.length - 2)
      if (!isNext && meet(a, b, c, d)) faults.push(`edges ${a} ${b} and ${c} ${d} meet`)
    }
  }
  return faults
}

function meet(a: Position, b: Position, c: Position, d: Position): boolean {
  if (Math.sign(side(a, b, c)) * Math.sign(side(a, b, d)) > 0) return false
  if (Math.sign(side(c, d, a)) * Math.sign(side(c, d, b)) > 0) return false
  // on one line: their boxes decide
  const overlaps = (axis: 0 | 1) =>
    Math.max(Math.min(a[axis]!, b[axis]!), Math.min(c[axis]!, d[axis]!)) <=
    Math.min(Math.max(a[axis]!, b[axis]!), Math.max(c[axis]!, d[axis]!))
  return overlaps(0) && overlaps(1)
}

function side([ax = 0, ay = 0]: Position, [bx = 0, by = 0]: Position, [x = 0, y = 0]: Position): number {
  return (bx - ax) * (y - ay) - (by - ay) * (x - ax)
}
