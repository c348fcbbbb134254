import { type Citation, findCitation } from '../storage/sqlite/citations/catalog.js'
import type { TableState } from '../storage/sqlite/citations/plan.js'
import { versionedLoader } from '../storage/sqlite/citations/versions.js'
import type { Db } from '../storage/sqlite/connection/database.js'
import { findDataset, unknownDataset } from '../storage/sqlite/datasets/catalog.js'
import { currentState } from '../storage/sqlite/datasets/delete.js'
import { withoutPrefix } from '../storage/sqlite/datasets/name.js'
import { findTable } from '../storage/sqlite/tables/catalog.js'

/** What `data_ddc` names: first a dataset, then a loader table, then a citation, which is read as it was cited. */
export interface DataSource {
  readonly kind: 'dataset' | 'loader' | 'citation'
  readonly info: Citation
  readonly state: TableState
}

/** @throws AppError UNKNOWN_DATASET */
export function findDataSource(db: Db, label: string, nowUs: number): DataSource {
  const table = findDataset(db, label)?.table
  if (table !== undefined) return { kind: 'dataset', ...uncited(currentState(table), nowUs) }
  const loader = findTable(db, withoutPrefix(label))
  if (loader !== undefined)
    return { kind: 'loader', ...uncited(currentState(versionedLoader(loader, 0)), nowUs) }
  const citation = findCitation(db, label)
  if (citation !== undefined) return { kind: 'citation', info: citation.info, state: citation.state }
  throw unknownDataset(label)
}

/** The writers of files tell what is cited: of a table as it is now they tell its name alone. */
function uncited(state: TableState, nowUs: number): Pick<DataSource, 'info' | 'state'> {
  const { name, realname } = state.table
  const info: Citation = {
    citationId: 0,
    shortForm: name,
    longForm: name,
    datasetName: name,
    datasetRealname: realname,
    transactionTimeUs: nowUs,
    createdAtUs: nowUs,
    checksum: null,
  }
  return { info, state }
}
