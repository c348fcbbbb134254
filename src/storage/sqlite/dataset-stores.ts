import type { CitationStore, RowStates } from '../datasets/citations.js'
import type { DatasetStore } from '../datasets/datasets.js'
import { createRowStates } from './citations/row-states.js'
import { createCitationStore } from './citations/store.js'
import type { DataDb } from './connection/data-db.js'
import { createDatasetStore } from './datasets/store.js'

/** Opens the ports of datasets and citations over data.db. */
export function openDatasetStores(data: DataDb): {
  datasets: DatasetStore
  citations: CitationStore
  rows: RowStates
} {
  return {
    datasets: createDatasetStore(data),
    citations: createCitationStore(data),
    rows: createRowStates(data.reader),
  }
}
