import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { type FeedStatus, readFeedStatus } from '../../feeds/status.js'
import { layoutOf } from '../../files/layout.js'
import type { CitedState } from '../../storage/datasets/citations.js'
import type { DayRows } from '../../storage/exchange/day-rows.js'
import type { FeedResend } from '../../storage/exchange/feed-resends.js'
import type { FeedIdentity, FeedRecord } from '../../storage/exchange/feeds.js'
import type { TableDigests } from '../../storage/exchange/table-digests.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { openDatasetStores } from '../../storage/sqlite/dataset-stores.js'
import { createFeedIdentity } from '../../storage/sqlite/feeds/identity.js'
import { createTableDigests } from '../../storage/sqlite/feeds/table-digests.js'
import { findTable } from '../../storage/sqlite/tables/catalog.js'
import { createTableChanges } from '../../storage/sqlite/tables/changed-rows.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { type ModelData, withModelData } from '../models/model-data.js'

/** Open data of the verbs of feeds. */
export interface FeedData extends ModelData {
  readonly db: DataDb
  readonly tableChanges: TableChanges & DayRows
  readonly feedIdentity: FeedIdentity
  readonly tableDigests: TableDigests
  findTable(name: string): Promise<LoaderTable | undefined>
  findCitation(label: string): Promise<CitedState | undefined>
}

/**
 * Opens both databases of a data directory for one verb, also beside a running gateway.
 *
 * @param options `createsTables`: makes a missing `data.db`, as the first start of a gateway does
 * @throws Error if the directory holds no data
 */
export async function withFeedData<O>(
  command: Command,
  deps: CliDeps,
  act: (data: FeedData, options: O & GlobalOptions) => Promise<void>,
  { createsTables = false }: { createsTables?: boolean } = {},
): Promise<void> {
  await withModelData<O>(command, deps, async (data, options) => {
    if (!createsTables && !hasTables(data))
      throw new Error(`${data.settings.dataDir} has no tables yet: start the gateway once with it`)
    await withTables(data, (all) => act(all, options))
  })
}

function hasTables({ settings }: ModelData): boolean {
  return existsSync(layoutOf(settings.dataDir).dataDb)
}

async function withTables<T>(data: ModelData, act: (data: FeedData) => Promise<T>): Promise<T> {
  const db = await retryBusy(() => openDataDb(layoutOf(data.settings.dataDir).dataDb))
  const { citations } = openDatasetStores(db)
  try {
    return await act({
      ...data,
      db,
      tableChanges: createTableChanges(db.reader),
      feedIdentity: createFeedIdentity(db),
      tableDigests: createTableDigests(db),
      findTable: async (name) => findTable(db.reader, name),
      findCitation: (label) => citations.find(label),
    })
  } finally {
    db.close()
  }
}

/** A feed and where it is, as this process sees it: beside a running gateway up to ten seconds old. */
export interface ListedFeed {
  readonly record: FeedRecord
  readonly status: FeedStatus
  readonly setAside: number
  /** rows that are still to go, or to come, once more */
  readonly resend: FeedResend | undefined
}

/** Lists the feeds of a data directory. */
export async function listFeeds(models: ModelData): Promise<ListedFeed[]> {
  const { feeds, feedResends, clock } = models.state
  const records = await feeds.list()
  if (records.length === 0 || !hasTables(models)) return []
  return await withTables(models, (data) =>
    Promise.all(
      records.map(async (record) => ({
        record,
        status: await readFeedStatus(record, undefined, {
          ...data,
          nowUs: clock.nowUs(),
          citedRows: async (longForm) => (await data.findCitation(longForm))?.rowCount ?? undefined,
        }),
        setAside: await feeds.countSetAside(record.feedId),
        resend: await feedResends.find(record.feedId),
      })),
    ),
  )
}
