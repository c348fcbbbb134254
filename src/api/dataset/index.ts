import type { Method } from '../../rpc/define-method.js'
import { alterDataset } from './alter.js'
import { createCitation } from './citation-create.js'
import { deleteCitation } from './citation-delete.js'
import { listCitations } from './citation-list.js'
import type { DatasetContext } from './context.js'
import { createDataset } from './create.js'
import { deleteDataset } from './delete.js'
import { getColumns } from './get-columns.js'
import { listDatasets } from './list.js'
import { countRecords } from './record-count.js'
import { deleteRecords } from './record-delete.js'
import { getRecords } from './record-get.js'
import { listRecords } from './record-list.js'
import { putRecords } from './record-put.js'

export type { DatasetContext } from './context.js'

/** Methods that a hub has, whose datasets and citations are only read. */
export const DATASET_READS: readonly Method<DatasetContext>[] = [
  getColumns,
  listDatasets,
  listCitations,
  getRecords,
  listRecords,
  countRecords,
]

/** Methods that change something. */
export const DATASET_WRITES: readonly Method<DatasetContext>[] = [
  createDataset,
  alterDataset,
  deleteDataset,
  createCitation,
  deleteCitation,
  putRecords,
  deleteRecords,
]

/** Methods of `/api/v2/dataset/jsonrpc`. */
export const DATASET_METHODS: readonly Method<DatasetContext>[] = [
  createDataset,
  alterDataset,
  deleteDataset,
  getColumns,
  listDatasets,
  createCitation,
  deleteCitation,
  listCitations,
  putRecords,
  deleteRecords,
  getRecords,
  listRecords,
  countRecords,
]
