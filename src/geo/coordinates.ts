/** `coordinates` of a geometry: a position, or arrays of any depth that end in positions; maybe empty. */
export type Coordinates = readonly number[] | readonly Coordinates[]

/** Returns true for a single position; false for an array of others, also an empty one. */
export function isPosition(coordinates: Coordinates): coordinates is readonly number[] {
  return typeof coordinates[0] === 'number'
}

/** Returns true when any position has a height. */
export function hasHeight(coordinates: Coordinates): boolean {
  return isPosition(coordinates) ? coordinates.length > 2 : coordinates.some(hasHeight)
}

/** Returns the number of positions. */
export function countPositions(coordinates: Coordinates): number {
  if (coordinates.length === 0) return 0
  if (isPosition(coordinates)) return 1
  return coordinates.reduce((sum, inner) => sum + countPositions(inner), 0)
}
