import { requireScope } from '../../auth/caller.js'
import { isDatasetTable, type LoaderTable, type TableReader } from '../../storage/tables.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of event data and risk maps use. */
export type MapContext = Pick<CallContext, 'signal' | 'caller'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & { readonly tables: Pick<TableReader, 'find' | 'pages'> }

/**
 * Refuses rows of a dataset to keys that may not read datasets; `map:read` alone reads loader tables.
 *
 * @throws AppError FORBIDDEN
 */
export function requireReading(table: LoaderTable, { caller }: Pick<MapContext, 'caller'>): void {
  if (isDatasetTable(table)) requireScope(caller, 'dataset:read')
}
