import type { Graph } from './graph.js'

/** Decision by conditions: one outcome for each combination of those that hold. */
export interface DecisionTable {
  /** numbers of the conditions that decide, ascending; the first is bit 0 of the position in `out` */
  readonly when: readonly number[]
  /** `2 ** when.length` outcomes */
  readonly out: readonly number[]
}

/** Conditions of a map. */
export interface MapConditions {
  /** texts that `parseCondition` reads */
  readonly conditions: readonly string[]
  readonly tables: readonly DecisionTable[]
}

/** Most conditions that one table may have. */
export const MAX_WHEN = 8

/** Numbers of an entry of `Graph.conditionalLinks`: link, table, start arc when public, start arc when private. */
export const CONDITIONAL_LINK = 4
/** Numbers of an entry of `Graph.conditionalArcs`: arc, table. */
export const CONDITIONAL_ARC = 2

/** Outcome of a link's table: its speed in the lower 16 bits, 0 = closed, and bits of `LINK_FLAG` above. */
export function packOutcome(speedDkmh: number, flags: number): number {
  return (flags << 16) | speedDkmh
}

/** Returns the speed of an outcome, 1/10 km/h; 0 = closed. */
export function speedOf(outcome: number): number {
  return outcome & 0xffff
}

/** Returns the bits of `LINK_FLAG` of an outcome. */
export function flagsOf(outcome: number): number {
  return outcome >>> 16
}

/** Returns the outcome of a table. @param holds condition → not 0 when it holds */
export function outcomeOf({ when, out }: DecisionTable, holds: ArrayLike<number>): number {
  let position = 0
  for (let bit = 0; bit < when.length; bit++) if (holds[when[bit]!]! !== 0) position |= 1 << bit
  return out[position]!
}

/**
 * Returns the conditions of a map; undefined for a map that was built without them. They are parsed once.
 *
 * @throws SyntaxError when the section is not JSON
 */
export function conditionsOf({ conditions }: Pick<Graph, 'conditions'>): MapConditions | undefined {
  if (conditions === undefined) return undefined
  let known = parsed.get(conditions)
  if (known === undefined) {
    // a copy, because TextDecoder refuses views of shared memory
    known = JSON.parse(new TextDecoder().decode(conditions.slice())) as MapConditions
    parsed.set(conditions, known)
  }
  return known
}

const parsed = new WeakMap<Uint8Array, MapConditions>()

/** Returns the section of a map file with its conditions. */
export function packConditions({ conditions, tables }: MapConditions): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ conditions, tables }))
}
