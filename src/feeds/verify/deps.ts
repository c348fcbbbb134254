import type { FeedIdentity, FeedProgress, FeedRecord } from '../../storage/exchange/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { FeedLink } from '../send/link.js'
import type { Differences } from './compare.js'
import type { SumsDeps } from './sums.js'

/** Comparison of a table with what the other node of a feed has of it. */
export interface Verification extends Differences {
  /** true where no day differs but those that cannot be compared any more */
  readonly isEqual: boolean
}

/** Dependencies of a comparison. */
export interface VerifyDeps extends SumsDeps {
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch'>
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** Opens the connections to an upstream. @throws AppError UNKNOWN_UPSTREAM, BAD_ENDPOINT, UPSTREAM_REFUSED */
  connect(upstream: string): Promise<FeedLink>
  /** Returns how far a feed is; undefined for an unknown one. */
  progress(feedId: string): Promise<FeedProgress | undefined>
  findFeed(feedId: string): Promise<FeedRecord | undefined>
  /** UUID of this node */
  readonly nodeId: string
  /** monotonic clock */
  nowMs(): number
  pause(ms: number, signal: AbortSignal): Promise<void>
}
