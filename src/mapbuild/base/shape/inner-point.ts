/**
 * Returns a point inside an area, for its label: the middle of the widest part of a horizontal line through the
 * middle of its box. A second line at a third of the height is tried where that one is narrow.
 *
 * @param rings x, y …, the first point repeated; even-odd rule
 */
export function innerPoint(rings: readonly (readonly number[])[]): [x: number, y: number] {
  let [minY, maxY] = [Infinity, -Infinity]
  for (const ring of rings) {
    for (let at = 1; at < ring.length; at += 2) {
      minY = Math.min(minY, ring[at]!)
      maxY = Math.max(maxY, ring[at]!)
    }
  }
  let best: { x: number; y: number; width: number } | undefined
  for (const share of [0.5, 0.37, 0.63]) {
    // not on a vertex, unless the area has no height
    const found = widestSpan(rings, minY + (maxY - minY) * share + 1e-6)
    if (found !== undefined && (best === undefined || found.width > best.width * 1.3)) best = found
  }
  const [first = []] = rings
  return best === undefined ? [first[0] ?? 0, first[1] ?? 0] : [best.x, best.y]
}

function widestSpan(rings: readonly (readonly number[])[], y: number) {
  const crossings: number[] = []
  for (const ring of rings) {
    for (let at = 2; at < ring.length; at += 2) {
      const [ax, ay, bx, by] = [ring[at - 2]!, ring[at - 1]!, ring[at]!, ring[at + 1]!]
      if (ay > y !== by > y) crossings.push(ax + ((y - ay) / (by - ay)) * (bx - ax))
    }
  }
  crossings.sort((a, b) => a - b)
  let best: { x: number; y: number; width: number } | undefined
  for (let i = 1; i < crossings.length; i += 2) {
    const width = crossings[i]! - crossings[i - 1]!
    if (best === undefined || width > best.width)
      best = { x: (crossings[i]! + crossings[i - 1]!) / 2, y, width }
  }
  return best
}
