/** Limits of one geometry, so that a hostile one costs no more than a large honest one. */
export const GEOMETRY_LIMITS = {
  /** rings and members of collections count as well */
  maxPositions: 1_000_000,
  /** collections within collections */
  maxDepth: 16,
  /** larger coordinates could overflow in the exact predicates */
  maxAbsCoordinate: 1e100,
} as const
