import type { FeedIdentity } from '../../exchange/feeds.js'
import type { WriteLock } from '../../work/write-lock.js'
import { type Db, oneValue, retryBusy, statement, transaction } from '../connection/database.js'
import { tableUuidOf } from '../tables/catalog.js'

interface IdentityConnection {
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  readonly lock: WriteLock
}

/** Creates the names of tables and of the incarnation of `data.db`. */
export function createFeedIdentity({ reader, writer, lock }: IdentityConnection): FeedIdentity {
  const epochOf = (db: Db) => oneValue<number>(db, 'SELECT max(epoch) FROM feed_epoch')
  return {
    tableUuid: async (table) => tableUuidOf(reader, table),
    epoch: async () => epochOf(reader),
    beginEpoch: (nowUs) =>
      lock.run(() =>
        retryBusy(() =>
          transaction(writer, () => {
            statement(writer, 'UPDATE feed_epoch SET epoch = max(epoch + 1, ?)').run(nowUs)
            return epochOf(writer)
          }),
        ),
      ),
    changeCount: () => oneValue<number>(reader, 'PRAGMA data_version'),
  }
}
