import type { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import type { Dataset } from '../../storage/datasets/datasets.js'
import type { Citation } from '../../storage/datasets/states.js'
import type { CitationInfo, DatasetInfo } from './schema.js'

/** Returns a dataset in its wire form. */
export function toDatasetInfo(dataset: Dataset, timeZoneMin: number): z.input<typeof DatasetInfo> {
  return {
    id: dataset.datasetId,
    session_id: null,
    usename: dataset.usename,
    ddc_type: 'table',
    short_form: dataset.shortForm,
    long_form: dataset.longForm,
    realname: dataset.realname,
    created_at: datetimeObject(dataset.createdAtUs, timeZoneMin),
    committed_at: null,
    prepared_activity_id: null,
  }
}

/** Returns a citation in its wire form. */
export function toCitationInfo(citation: Citation, timeZoneMin: number): z.input<typeof CitationInfo> {
  return {
    id: citation.citationId,
    short_form: citation.shortForm,
    long_form: citation.longForm,
    dataset_name: citation.datasetName,
    dataset_realname: citation.datasetRealname,
    transaction_time: datetimeObject(citation.transactionTimeUs, timeZoneMin),
    created_at: datetimeObject(citation.createdAtUs, timeZoneMin),
    checksum: citation.checksum,
    checksum_state: citation.checksum === null ? 'pending' : 'done',
    origin: citation.origin,
  }
}
