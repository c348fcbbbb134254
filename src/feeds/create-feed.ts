import { AppError, invalidParams } from '../errors.js'
import type { FeedIdentity, FeedRecord, FeedRows, FeedStart } from '../storage/feeds.js'
import type { LoaderTable, TableChanges } from '../storage/tables.js'
import { requireSendable } from './send/turn.js'

/** A feed to create; its condition and upstream have been checked. */
export interface NewFeed {
  readonly table: LoaderTable
  readonly upstream: string
  readonly conds: unknown
  readonly columns: readonly string[] | null
  readonly priority: number
  readonly maxBytesPerSecond: number
  readonly windows: readonly string[]
  /** an instant in µs UTC with its text */
  readonly from: 'now' | 'all' | { readonly text: string; readonly us: number }
}

interface CreateDeps {
  readonly feeds: Pick<FeedRows, 'create'>
  readonly identity: Pick<FeedIdentity, 'tableUuid'>
  readonly changes: Pick<TableChanges, 'last'>
  newId(): string
}

/**
 * Creates a feed.
 *
 * @throws AppError FEED_EXISTS, TABLE_NOT_SENDABLE, INVALID_PARAMS for `columns`
 */
export async function createFeedRecord(feed: NewFeed, deps: CreateDeps): Promise<FeedRecord> {
  const { table, columns, from } = feed
  checkColumns(table, columns)
  requireSendable(table, columns)
  const last = await deps.changes.last(table)
  const start: FeedStart = {
    tableUuid: (await deps.identity.tableUuid(table)) ?? '',
    afterChange: from === 'now' ? last : 0,
    untilChange: last,
    fromUs: typeof from === 'object' ? from.us : null,
  }
  const made = await deps.feeds.create({
    ...{ feedId: deps.newId(), dataName: table.dataName, upstream: feed.upstream, start },
    ...{ conds: feed.conds, columns, priority: feed.priority, isEnabled: true },
    ...{ maxBytesPerSecond: feed.maxBytesPerSecond, windows: feed.windows },
    from: typeof from === 'object' ? from.text : from,
  })
  if (made !== undefined) return made
  const message = `The table ${table.dataName} has a feed to ${feed.upstream}`
  throw new AppError('FEED_EXISTS', { table: table.dataName, upstream: feed.upstream }, { message })
}

/** @throws AppError INVALID_PARAMS */
function checkColumns(table: LoaderTable, columns: readonly string[] | null): void {
  if (columns === null) return
  const faults = columns.flatMap((name, index) =>
    table.columnByName.has(name)
      ? []
      : [
          {
            path: `$.columns[${index}]`,
            message: `found ${JSON.stringify(name)}, expected a column of ${table.dataName}`,
          },
        ],
  )
  const isReserved = (name: string) => table.columns.slice(0, 3).some((column) => column.name === name)
  const missing = table.uniqueColumns.filter((name) => !isReserved(name) && !columns.includes(name))
  if (missing.length > 0)
    faults.push({
      path: '$.columns',
      message: `found no ${missing.join(', ')}, expected the columns of the unique key`,
    })
  if (faults.length > 0) throw invalidParams(faults)
}
