import type { RowStates, Snapshot } from '../../datasets/citations.js'
import type { RowState } from '../../datasets/states.js'
import { openDataReader } from '../connection/data-db.js'
import type { Db } from '../connection/database.js'
import { findDataset } from '../datasets/catalog.js'
import { withoutPrefix } from '../datasets/name.js'
import { findTable } from '../tables/catalog.js'
import { toRowState, uncitedInfo } from '../versions/row-state.js'
import { currentState, type VersionedTable, versionedLoader } from '../versions/versioned-table.js'
import { createBookmarks } from './bookmarks.js'
import { findCitation } from './catalog.js'
import { createDigestCache } from './digest-cache.js'
import { toCitedState } from './store.js'

/** Opens everything that can be read by a name. @param db a connection that sees committed rows only */
export function createRowStates(db: Db): RowStates {
  return { find: async (label, nowUs) => findRowState(db, label, nowUs) }
}

/** Opens a snapshot of data.db over a connection of its own, which `close` ends. */
export function openSnapshot(file: string): Snapshot {
  const db = openDataReader(file)
  db.exec('BEGIN') // the first read fixes the state; writers go on, and are not seen
  return {
    ...createRowStates(db),
    async close() {
      db.exec('COMMIT')
      db.close()
    },
  }
}

function findRowState(db: Db, label: string, nowUs: number): RowState | undefined {
  const current = (table: VersionedTable, kind: 'dataset' | 'loader') =>
    toRowState(db, currentState(table), { kind, info: uncitedInfo(table, nowUs) })
  const dataset = findDataset(db, label)
  if (dataset !== undefined) return current(dataset.table, 'dataset')
  const loader = findTable(db, withoutPrefix(label))
  if (loader !== undefined) return current(versionedLoader(loader, 0), 'loader')
  const citation = findCitation(db, label)
  if (citation === undefined) return undefined
  return toCitedState(db, citation, { label, bookmarks: createBookmarks(), pageDigests: createDigestCache() })
}
