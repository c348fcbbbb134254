import { AppError } from '../../../errors.js'
import type { Stored } from '../../columns/column-type.js'
import type { CitationSums } from '../../datasets/citations.js'
import {
  type CitationCopies,
  type CopyKey,
  type CopyProgress,
  citationDiffers,
  type OfferedCitation,
} from '../../exchange/citation-copies.js'
import { createChecksumPass } from '../../formats/checksum.js'
import { createPause } from '../../work/pause.js'
import type { DataDb } from '../connection/data-db.js'
import { asyncTransaction, type Db, retryBusy, statement, transaction } from '../connection/database.js'
import { freeing } from '../connection/reserve.js'
import { createDataset, type FoundDataset, findDatasetById, removeDataset } from '../datasets/catalog.js'
import { putStoredRows } from '../datasets/put.js'
import { toRowState, uncitedInfo } from '../versions/row-state.js'
import { currentState } from '../versions/versioned-table.js'
import { insertCitation } from './catalog.js'

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

interface CopyRow {
  checksum: string
  dataset_id: number | null
}

/** Creates the copies of citations of `data.db`. @param nowUs wall clock */
export function createCitationCopies({ reader, writer, lock }: DataDb, nowUs: () => number): CitationCopies {
  const write = <T>(work: () => T): Promise<T> => lock.run(() => retryBusy(() => transaction(writer, work)))
  return {
    open: (offer, id, atUs) => write(() => openCopy(writer, offer, { id, nowUs: atUs })),
    async find(key) {
      const copy = findOpen(reader, key)
      if (copy === undefined) return undefined
      const { dataset, checksum } = copy
      return { columns: dataset.table.columns, rows: dataset.rowsGiven, checksum }
    },
    append: (key, after, rows, owner) =>
      lock.run(
        () => asyncTransaction(writer, () => appendRows(writer, key, { after, rows, nowUs: nowUs() })),
        owner,
      ),
    async openSums(key) {
      const copy = findOpen(reader, key)
      if (copy === undefined) return undefined
      const { table } = copy.dataset
      const info = uncitedInfo(table, 0)
      return await createChecksumPass(toRowState(reader, currentState(table), { kind: 'dataset', info }))
    },
    finish: (offer, sums) => write(() => finishCopy(writer, offer, sums, nowUs())),
    abandon: (key) =>
      lock.run(() => freeing(writer, () => retryBusy(() => transaction(writer, () => endCopy(writer, key))))),
  }
}

/** @throws AppError CITATION_DIFFERS */
function openCopy(db: Db, offer: OfferedCitation, identity: { id: string; nowUs: number }): CopyProgress {
  const { origin, longForm, checksum, columns, keyColumns } = offer
  const cited = statement<{ origin_node: string | null; checksum: string | null; row_count: number }>(
    db,
    'SELECT origin_node, checksum, row_count FROM citation WHERE long_form = ?',
  ).get(longForm)
  if (cited !== undefined) {
    if (cited.origin_node !== origin) throw citationDiffers(longForm, 'is that of another node here')
    if (cited.checksum !== checksum) throw citationDiffers(longForm, 'has other rows here')
    return { rows: cited.row_count, isComplete: true }
  }
  const known = findCopy(db, offer)
  if (known === undefined) {
    const taken = statement(db, 'INSERT INTO taken_name (long_form) VALUES (?) ON CONFLICT DO NOTHING')
    if (taken.run(longForm).changes === 0) throw citationDiffers(longForm, 'was made here and deleted')
  } else if (known.checksum !== checksum)
    throw citationDiffers(longForm, 'was offered with other rows before')
  else if (known.dataset_id !== null)
    // no test: a foreign key keeps the dataset
    return { rows: findDatasetById(db, known.dataset_id)?.rowsGiven ?? 0, isComplete: false }
  // no name of a caller has a space
  const name = `copy ${identity.id}`
  const { datasetId } = createDataset(db, { name, columns, keyColumns, usename: origin }, identity)
  statement(db, 'UPDATE dataset SET copy_of = ? WHERE dataset_id = ?').run(longForm, datasetId)
  statement(
    db,
    `INSERT INTO citation_copy (origin_node, long_form, checksum, dataset_id) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET dataset_id = excluded.dataset_id`,
  ).run(origin, longForm, checksum, datasetId)
  return { rows: 0, isComplete: false }
}

/** The caller has begun a transaction. @throws AppError UNKNOWN_FEED, CURSOR_MISMATCH, RECORD_EXISTS */
async function appendRows(
  db: Db,
  key: CopyKey,
  { after, rows, nowUs }: { after: number; rows: readonly (readonly Stored[])[]; nowUs: number },
): Promise<number> {
  const { dataset } = requireOpen(db, key)
  if (dataset.rowsGiven !== after) {
    const message = `The rows begin after row ${after}, expected ${dataset.rowsGiven}`
    throw new AppError('CURSOR_MISMATCH', { cursor: dataset.rowsGiven }, { message })
  }
  await putStoredRows(db, dataset, rows, { nowUs, pause: createPause(undefined, SLICE_MS) })
  return after + rows.length
}

function finishCopy(
  db: Db,
  offer: Omit<OfferedCitation, 'columns' | 'keyColumns'>,
  { checksum, rowCount, rowIndex, pageDigests }: CitationSums,
  nowUs: number,
): void {
  const { dataset } = requireOpen(db, offer)
  const { citationId } = insertCitation(db, dataset.table, offer, nowUs)
  statement(
    db,
    `UPDATE citation SET checksum = ?, row_count = ?, row_index = ?, page_digests = ?, origin_node = ?,
     origin_name = ?, origin_realname = ? WHERE citation_id = ?`,
  ).run(
    ...[checksum, rowCount, rowIndex, pageDigests, offer.origin],
    ...[offer.datasetName, offer.datasetRealname, citationId],
  )
}

function endCopy(db: Db, key: CopyKey): void {
  const copy = findOpen(db, key)
  if (copy !== undefined) removeDataset(db, copy.dataset)
}

function findCopy(db: Db, { origin, longForm }: CopyKey): CopyRow | undefined {
  const sql = 'SELECT checksum, dataset_id FROM citation_copy WHERE origin_node = ? AND long_form = ?'
  return statement<CopyRow>(db, sql).get(origin, longForm)
}

/** Finds a copy whose citation is not made yet. */
function findOpen(db: Db, key: CopyKey): { dataset: FoundDataset; checksum: string } | undefined {
  const copy = findCopy(db, key)
  const dataset = copy?.dataset_id == null ? undefined : findDatasetById(db, copy.dataset_id)
  if (copy === undefined || dataset === undefined || dataset.isCited) return undefined
  return { dataset, checksum: copy.checksum }
}

/** @throws AppError UNKNOWN_FEED */
function requireOpen(db: Db, key: CopyKey): { dataset: FoundDataset; checksum: string } {
  const copy = findOpen(db, key)
  if (copy !== undefined) return copy
  const message = `The citation ${key.longForm} was not offered as these rows have it; offer it first`
  throw new AppError('UNKNOWN_FEED', { long_form: key.longForm }, { message })
}
