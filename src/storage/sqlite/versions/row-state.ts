import type { Citation, RowState } from '../../datasets/states.js'
import type { Db } from '../connection/database.js'
import { countState, readState, type StateReading } from './read-state.js'
import type { TableState, VersionedTable } from './versioned-table.js'

/** Parts of a reading that belong to the state and not to the caller. */
type StateChecks = Pick<StateReading, 'check' | 'seek'>

/**
 * Returns a state in the form of the port.
 *
 * @param db a connection that sees committed rows only
 * @param checksOf called at each reading, before its first page
 */
export function toRowState<K extends RowState['kind']>(
  db: Db,
  state: TableState,
  { kind, info }: { kind: K; info: Citation },
  checksOf: (query: Parameters<RowState['read']>[0]) => StateChecks = () => ({}),
): RowState & { readonly kind: K } {
  return {
    kind,
    info,
    columns: state.columns,
    keyColumns: state.table.keyColumns,
    read: async (query, options) => readState({ ...options, ...checksOf(query), db }, state, query),
    count: async (query, options) => await countState({ ...options, ...checksOf(query), db }, state, query),
  }
}

/**
 * Returns what exported files say about rows that are not cited: their table's name alone.
 *
 * @param nowUs µs UTC
 */
export function uncitedInfo({ name, realname }: VersionedTable, nowUs: number): Citation {
  return {
    citationId: 0,
    shortForm: name,
    longForm: name,
    datasetName: name,
    datasetRealname: realname,
    transactionTimeUs: nowUs,
    createdAtUs: nowUs,
    checksum: null,
    origin: null,
  }
}
