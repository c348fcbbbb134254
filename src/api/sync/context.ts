import type { CitationReceiver } from '../../feeds/citations/receive.js'
import type { FeedGiver } from '../../feeds/give/giver.js'
import type { FeedReceiver } from '../../feeds/receive/receiver.js'
import type { SumsAnswerer } from '../../feeds/receive/sums.js'
import type { FeedSender } from '../../feeds/send/sender.js'
import type { Verification } from '../../feeds/verify/verify.js'
import type { CitedState } from '../../storage/datasets/citations.js'
import type { DayRows } from '../../storage/exchange/day-rows.js'
import type { FeedResend, FeedResends } from '../../storage/exchange/feed-resends.js'
import type {
  AskedFeeds,
  FeedIdentity,
  FeedRecord,
  FeedRows,
  FeedUpstreams,
} from '../../storage/exchange/feeds.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { CallContext, SharedContext } from '../context.js'

/** Context of the methods of feeds. */
export type SyncContext = Pick<CallContext, 'caller' | 'signal'> &
  Pick<SharedContext, 'timeZoneMin' | 'clock' | 'config' | 'newId'> & {
    readonly feeds: FeedRows
    readonly feedUpstreams: FeedUpstreams
    readonly feedIdentity: FeedIdentity
    readonly tableChanges: TableChanges & DayRows
    readonly feedSender: FeedSender
    readonly feedReceiver: FeedReceiver
    readonly citationReceiver: CitationReceiver
    /** Finds a citation by its long form, else the newest of a short form. */
    findCitation(label: string): Promise<CitedState | undefined>
    readonly feedGiver: FeedGiver
    readonly askedFeeds: AskedFeeds
    readonly feedResends: FeedResends
    readonly sumsAnswerer: SumsAnswerer
    /** Compares the table of a feed with what its receiver has, as `verifyFeed` of feeds does. */
    verifyFeed(record: FeedRecord, isRecount: boolean, signal: AbortSignal): Promise<Verification>
    /** Asks for rows of a feed down to come once more, as `askResendDown` of feeds does. */
    resendDown(
      record: FeedRecord,
      days: { fromDay: number; toDay: number },
      signal: AbortSignal,
    ): Promise<FeedResend>
    /** Finds a table by its name. @throws AppError UNKNOWN_TABLE */
    findTable(name: string): Promise<LoaderTable>
    /**
     * Checks a condition against a table.
     *
     * @throws AppError BAD_CONDITION, TOO_EXPENSIVE
     */
    checkConds(table: LoaderTable, conds: unknown): Promise<void>
  }
