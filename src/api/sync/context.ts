import type { FeedGiver } from '../../feeds/give/giver.js'
import type { FeedReceiver } from '../../feeds/receive/receiver.js'
import type { FeedSender } from '../../feeds/send/sender.js'
import type { AskedFeeds, FeedIdentity, FeedRows, FeedUpstreams } from '../../storage/feeds.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { CallContext, SharedContext } from '../context.js'

/** Context of the methods of feeds. */
export type SyncContext = Pick<CallContext, 'caller'> &
  Pick<SharedContext, 'timeZoneMin' | 'clock' | 'config' | 'newId'> & {
    readonly feeds: FeedRows
    readonly feedUpstreams: FeedUpstreams
    readonly feedIdentity: FeedIdentity
    readonly tableChanges: TableChanges
    readonly feedSender: FeedSender
    readonly feedReceiver: FeedReceiver
    readonly feedGiver: FeedGiver
    readonly askedFeeds: AskedFeeds
    /** Finds a table by its name. @throws AppError UNKNOWN_TABLE */
    findTable(name: string): Promise<LoaderTable>
    /**
     * Checks a condition against a table.
     *
     * @throws AppError BAD_CONDITION, TOO_EXPENSIVE
     */
    checkConds(table: LoaderTable, conds: unknown): Promise<void>
  }
