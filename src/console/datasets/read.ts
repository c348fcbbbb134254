import { call } from '../core/rpc.js'

type Moment = { val: string }

export interface DatasetInfo {
  id: number
  short_form: string
  long_form: string
  created_at: Moment
}

export interface CitationInfo {
  short_form: string
  long_form: string
  created_at: Moment
  transaction_time?: Moment
  checksum: string | null
  checksum_state: 'pending' | 'done'
  [more: string]: unknown
}

export type Row = Record<string, unknown>

export async function readDatasets(): Promise<DatasetInfo[]> {
  return await call<DatasetInfo[]>('dataset.list', {})
}

/** Newest first. */
export async function readCitations(): Promise<CitationInfo[]> {
  return (await call<CitationInfo[]>('dataset.citation.list', {})).reverse()
}

export async function readRows(citation: string, offset: number, limit: number): Promise<Row[]> {
  return await call<Row[]>('dataset.record.get', { citation_label: citation, offset, limit })
}
