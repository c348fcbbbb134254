import type { ValueEnv } from '../../columns/column-type.js'
import type { Db } from '../connection/database.js'
import type { Pause } from '../connection/pause.js'
import { type FoundDataset, findDataset, unknownDataset } from './catalog.js'
import { deleteDatasetRecords } from './delete.js'
import { type OnConflict, putDatasetRecords } from './put.js'

/** What every change of rows needs to know; plain data, so that another thread can do it. */
interface RowJob {
  readonly name: string
  /** time of the call, µs UTC */
  readonly nowUs: number
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
}

export interface PutJob extends RowJob {
  /** arrays in the order of the columns */
  readonly records: readonly (readonly unknown[])[]
  readonly onConflict: OnConflict
}

export interface DeleteJob extends RowJob {
  readonly condition: unknown
}

/** Rows of a state that are looked at in one step. */
const PAGE_ROWS = 1000

/** @returns records written. Within a transaction. @throws AppError UNKNOWN_DATASET, BAD_RECORD, RECORD_EXISTS */
export async function putRecords(db: Db, job: PutJob, pause: Pause): Promise<number> {
  const { records, onConflict, nowUs } = job
  const dataset = requireDataset(db, job.name)
  return await putDatasetRecords(db, dataset, records, { onConflict, env: envOf(job), nowUs, pause })
}

/** @returns records deleted. Within a transaction. @throws AppError UNKNOWN_DATASET, BAD_CONDITION */
export async function deleteRecords(db: Db, job: DeleteJob, pause: Pause): Promise<number> {
  const reading = { db, env: envOf(job), pageRows: PAGE_ROWS, pause }
  return await deleteDatasetRecords(reading, requireDataset(db, job.name), job.condition, job.nowUs)
}

/** @throws AppError UNKNOWN_DATASET */
export function requireDataset(db: Db, name: string): FoundDataset {
  const dataset = findDataset(db, name)
  if (dataset === undefined) throw unknownDataset(name)
  return dataset
}

function envOf({ timeZoneMin, nowUs }: RowJob): ValueEnv {
  return { timeZoneMin, nowUs: BigInt(nowUs) }
}
