import type { Shape } from './shape.js'

/**
 * One closed ring of few positions in an array of many, the last position equal to the first. For thousands of
 * small areas: a `Shape` of each would take ten arrays in ten places of memory, which costs more than it
 * saves comparisons.
 */
export interface Ring {
  /** position → x, y */
  xy: Float64Array
  /** first and last position, both included */
  first: number
  last: number
  /** there is no tree */
  readonly nodeCount: undefined
}

/** An area as the kernels read it: a small ring, or the polygons of a shape. */
export type Area = Shape | Ring

/** Positions of a ring at most; a larger one is faster as a `Shape`, which has a tree of boxes. */
export const MAX_RING_POSITIONS = 17

/** Returns true for a ring, false for a shape. */
export function isRing(area: Area): area is Ring {
  return area.nodeCount === undefined
}
