import type { ErrorName } from '../../../src/errors.js'

/** Params, the error, and what its message says. */
export type BadCall = readonly [params: unknown, name: ErrorName, message: RegExp]

/** Method → calls that it must refuse. */
export type BadCalls = Readonly<Record<string, readonly BadCall[]>>

/** What stands in the gateway that the calls are sent to. */
export interface Standing {
  nodeId: string
  /** of the model in the store `rain`, whose upstream is switched off */
  modelId: string
  sha256: string
  /** of the table `x` */
  feedId: string
  /** of a table that was dropped */
  goneFeedId: string
  /** a feed of a citation */
  citedFeedId: string
}
