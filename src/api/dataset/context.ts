import { type Caller, isAllowed, requireScope } from '../../auth/caller.js'
import type { Datasets } from '../../datasets/datasets.js'
import type { RowRights } from '../../datasets/reads.js'
import type { RequireReading } from '../../storage/datasets/citations.js'
import type { Readers } from '../../worker/reader-pool.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the call context that the methods of datasets use. */
export type DatasetContext = Pick<CallContext, 'caller' | 'signal'> &
  Pick<SharedContext, 'timeZoneMin'> & { readonly datasets: Datasets; readonly readers: Readers }

/** Kinds of rows that a caller may read by a label. */
export function rowRights({ scopes }: Pick<Caller, 'scopes'>): RowRights {
  return { datasets: isAllowed(scopes, 'dataset:read'), tables: isAllowed(scopes, 'loader:read') }
}

/** Makes the check of what a caller may read: a key for datasets alone does not read loader tables. */
export function readingOf(caller: Caller): RequireReading {
  return (kind) => requireScope(caller, `${kind}:read`)
}
