import { identifier } from '../connection/database.js'

/** Transaction in which a version of a row began. */
export const FROM_TX = identifier('from tx')
/** Transaction in which a former version of a row ended. */
export const TO_TX = identifier('to tx')
/** Key of the history: the order in which rows were overwritten or deleted. */
export const VERSION_ID = identifier('version id')

/** Facts that the names of a versioned table's parts are made of. */
export interface VersionedName {
  readonly versionedId: number
  readonly kind: 'dataset' | 'loader'
  /** name of the SQLite table that holds the current rows */
  readonly tableName: string
}

/** Returns the quoted names of what belongs to a table whose former rows are kept; see `versions/`. */
export function versionNames(table: VersionedName) {
  const stem = table.kind === 'dataset' ? table.tableName : `${table.tableName}_${table.versionedId}`
  const named = (suffix: string) => identifier(`${stem}_${suffix}`)
  return {
    current: identifier(table.tableName),
    history: named('history'),
    historyIndex: named('history_row'),
    gone: named('gone'),
    goneIndex: named('gone_key'),
    since: named('since'),
    trigger: (event: 'update' | 'delete') => named(`on_${event}`),
    /** R*Tree of a dataset's geometry column, over its current rows */
    rtree: (slot: number) => named(`rtree_${slot}`),
    /** R*Tree of the places that rows of a dataset had before */
    past: (slot: number) => named(`past_${slot}`),
  }
}
