import type { BundledFeed } from '../storage/exchange/bundles.js'

/** Room that is left in a bundle. */
export interface Budget {
  /** bytes of text */
  left: number
}

/** Feeds of a bundle that was written. */
export interface PackedFeeds {
  readonly feeds: BundledFeed[]
  rows: number
  /** feeds of which rows are left for the next bundle */
  readonly cut: string[]
  /** feeds that cannot be packed, with the reason */
  readonly refused: string[]
}

/** Models of a bundle that was written. */
export interface PackedModels {
  readonly transfers: number[]
  /** aggregated models */
  aggregated: number
  /** models that are left for the next bundle */
  left: number
  /** models that cannot be packed, with the reason */
  readonly refused: string[]
}

/** Takes the room of a part. @returns undefined when there is none */
export function spend(budget: Budget, part: Buffer): Buffer | undefined {
  if (part.byteLength > budget.left) return undefined
  budget.left -= part.byteLength
  return part
}
