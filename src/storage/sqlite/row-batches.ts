import { AppError } from '../../errors.js'
import type { RowBatch, RowBatches } from '../row-batch.js'
import { asyncTransaction, type Db } from './connection/database.js'
import { requireDataset } from './datasets/catalog.js'
import { putDatasetRecords } from './datasets/put.js'
import { findTable } from './tables/catalog.js'
import { putRecordsWithin } from './tables/put.js'

/**
 * Opens batches over the writing connection of a thread that only loads. The write-ahead log is moved into
 * the file after each, so that no small commit of another thread has to do it.
 */
export function createRowBatches(db: Db): RowBatches {
  return {
    async run(work) {
      const result = await asyncTransaction(db, () => work(createRowBatch(db)))
      db.pragma('wal_checkpoint(PASSIVE)')
      return result
    },
  }
}

function createRowBatch(db: Db): RowBatch {
  return {
    async dataset(name) {
      const { columns } = requireDataset(db, name).table
      return {
        columns,
        put: async ({ records, onConflict, timeZoneMin, nowUs }, pause) => {
          const env = { timeZoneMin, nowUs: BigInt(nowUs) }
          // looked up again: the catalogue row has the next row id
          return await putDatasetRecords(db, requireDataset(db, name), records, {
            onConflict,
            env,
            nowUs,
            pause,
          })
        },
      }
    },
    async table(name) {
      const table = findTable(db, name)
      if (table === undefined) {
        const message = `The table ${name} does not exist any more`
        throw new AppError('UNKNOWN_TABLE', { data_name: name }, { message })
      }
      return {
        table,
        put: async (records, options) => (await putRecordsWithin(db, table, records, options)).counters,
      }
    },
  }
}
