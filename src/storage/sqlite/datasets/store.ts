import type { ListQuery } from '../../columns/list-query.js'
import type { DatasetStore } from '../../datasets/datasets.js'
import { createPause } from '../../work/pause.js'
import type { DataDb } from '../connection/data-db.js'
import {
  asyncTransaction,
  type Db,
  forgetStatements,
  retryBusy,
  transaction,
} from '../connection/database.js'
import { freeing } from '../connection/reserve.js'
import { dropDiscarded } from '../versions/discarded.js'
import { toRowState, uncitedInfo } from '../versions/row-state.js'
import { currentState } from '../versions/versioned-table.js'
import { addDatasetColumns } from './alter.js'
import { createDataset, type FoundDataset, findDataset, removeDataset, requireDataset } from './catalog.js'
import { deleteDatasetRecords } from './delete.js'
import { listDatasets } from './list.js'
import { putDatasetRecords } from './put.js'

/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
/** Larger tables are left to `fieldgate vacuum`: dropping one blocks the event loop, 0.3 µs per row. */
const MAX_DROP_ROWS = 50_000
/** Rows tested in one step of a deletion. */
const PAGE_ROWS = 1000

/** Opens the datasets of data.db. */
export function createDatasetStore({ reader, writer, lock }: DataDb): DatasetStore {
  const write = <T>(work: () => T): Promise<T> => lock.run(() => retryBusy(() => transaction(writer, work)))
  return {
    ...createDatasetRows(writer),
    create: (definition, { id, nowUs }) =>
      write(() => createDataset(writer, definition, { id, nowUs: nowUs() })),
    addColumns: (name, columns) => write(() => addDatasetColumns(writer, name, columns)),
    async remove(name) {
      const removed = await lock.run(() =>
        freeing(writer, () => retryBusy(() => transaction(writer, () => removeFound(writer, name)))),
      )
      for (const db of [reader, writer]) forgetStatements(db, removed.table.tableName)
      await dropDiscarded({ db: writer, lock, pause: createPause(undefined, SLICE_MS) }, MAX_DROP_ROWS)
      return removed.info
    },
    list: async (query: ListQuery) => listDatasets(reader, query),
    async find(label, nowUs) {
      const dataset = findDataset(reader, label)
      if (dataset === undefined) return undefined
      const { table, rowsGiven, isCited } = dataset
      const info = uncitedInfo(table, nowUs)
      return { ...toRowState(reader, currentState(table), { kind: 'dataset', info }), rowsGiven, isCited }
    },
  }
}

function removeFound(db: Db, name: string): FoundDataset {
  const dataset = requireDataset(db, name)
  removeDataset(db, dataset)
  return dataset
}

/**
 * Opens the rows of datasets for a thread that only loads. The write-ahead log is moved into the file here,
 * so that no small commit of another thread has to do it.
 *
 * @param db the writing connection; its caller holds the write lock
 */
export function createBulkDatasetRows(db: Db): Pick<DatasetStore, 'put' | 'deleteRecords'> {
  const rows = createDatasetRows(db)
  const checkpointed = async (work: Promise<number>): Promise<number> => {
    const count = await work
    db.pragma('wal_checkpoint(PASSIVE)')
    return count
  }
  return {
    put: (job, pause) => checkpointed(rows.put(job, pause)),
    deleteRecords: (job, pause) => checkpointed(rows.deleteRecords(job, pause)),
  }
}

/**
 * Changes of rows, each in a transaction of its own.
 *
 * @param db a connection that nobody else uses meanwhile
 */
function createDatasetRows(db: Db): Pick<DatasetStore, 'put' | 'deleteRecords'> {
  return {
    put: ({ name, records, onConflict, timeZoneMin, nowUs }, pause) =>
      asyncTransaction(db, async () => {
        const env = { timeZoneMin, nowUs: BigInt(nowUs) }
        return await putDatasetRecords(db, requireDataset(db, name), records, {
          onConflict,
          env,
          nowUs,
          pause,
        })
      }),
    deleteRecords: ({ name, condition, timeZoneMin, nowUs }, pause) =>
      freeing(db, () =>
        asyncTransaction(db, async () => {
          const env = { timeZoneMin, nowUs: BigInt(nowUs) }
          const options = { env, pageRows: PAGE_ROWS, pause, condition, nowUs }
          return await deleteDatasetRecords(db, requireDataset(db, name), options)
        }),
      ),
  }
}
