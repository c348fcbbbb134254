import type { Stored } from '../columns/column-type.js'

/** True when two stored values are the same, whatever the collation of their column. */
export function isEqual(a: Stored, b: Stored): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (typeof a === 'bigint' && typeof b === 'number') return a === BigInt(b)
  return a === b
}
