import { call } from '../core/rpc.js'
import type { DatasetColumn } from '../grid/source.js'

type Moment = { val: string }

/** A dataset in the result of `dataset.list`. */
export interface DatasetInfo {
  id: number
  short_form: string
  long_form: string
  created_at: Moment
  /** columns of the unique key; empty for none */
  key_columns: string[]
}

/** A citation in the result of `dataset.citation.list`. */
export interface CitationInfo {
  short_form: string
  long_form: string
  created_at: Moment
  /** name of the dataset or table that was cited */
  dataset_name: string
  transaction_time?: Moment
  checksum: string | null
  checksum_state: 'pending' | 'done'
  [more: string]: unknown
}

export type Row = Record<string, unknown>

/** Reads all datasets. @throws CallFault */
export async function readDatasets(): Promise<DatasetInfo[]> {
  return await call<DatasetInfo[]>('dataset.list', {})
}

/** Reads the key columns of a dataset; none for a name that it has not. @throws CallFault */
export async function readKey(name: string): Promise<readonly string[]> {
  const conds = { '=': ['short_form', name] }
  const [found] = await call<DatasetInfo[]>('dataset.list', { conds })
  return found?.key_columns ?? []
}

/** Reads all citations, newest first. @throws CallFault */
export async function readCitations(): Promise<CitationInfo[]> {
  return (await call<CitationInfo[]>('dataset.citation.list', {})).reverse()
}

/** Reads a page of the rows of a citation. @throws CallFault */
export async function readRows(citation: string, offset: number, limit: number): Promise<Row[]> {
  return await call<Row[]>('dataset.record.get', { citation_label: citation, offset, limit })
}

/** Reads the columns of a dataset or a citation. @throws CallFault */
export async function readColumns(dataset_label: string): Promise<DatasetColumn[]> {
  return await call<DatasetColumn[]>('dataset.get_columns', { dataset_label })
}
