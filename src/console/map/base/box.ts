/** Degrees. */
export type Box = readonly [west: number, south: number, east: number, north: number]
export type Point = readonly [lng: number, lat: number]

/**
 * Box around points; undefined without points.
 *
 * @param margin part of its width and height that is added on each side
 */
export function boxOf(points: readonly Point[], margin: number): Box | undefined {
  let [west, south, east, north] = [
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ]
  for (const [lng, lat] of points) {
    west = Math.min(west, lng)
    south = Math.min(south, lat)
    east = Math.max(east, lng)
    north = Math.max(north, lat)
  }
  const [x, y] = [(east - west) * margin, (north - south) * margin]
  return points.length === 0 ? undefined : [west - x, south - y, east + x, north + y]
}

/** True when a point lies in a box, or on its edge. */
export function isInside([west, south, east, north]: Box, [lng, lat]: Point): boolean {
  return lng >= west && lng <= east && lat >= south && lat <= north
}
