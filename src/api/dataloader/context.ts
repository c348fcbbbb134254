import type { PassState } from '../../storage/retention.js'
import type { SpooledRecords } from '../../tables/load-jobs.js'
import type { Loader } from '../../tables/loader.js'
import type { Retention } from '../../tables/retention.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of the data loader use. */
export type DataLoaderContext = Pick<CallContext, 'signal' | 'caller'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & {
    readonly loader: Loader
    /** rules of tables, and the removal of their old rows */
    readonly retention: Retention & {
      /** Begins a round at once, where this process does them. */
      wake(): void
      /** Returns the state of the last pass over a table; undefined before the first one. */
      stateOf(tableId: number): PassState | undefined | Promise<PassState | undefined>
    }
    /** records of a body that was too large for memory; `record_set` in the params is empty then */
    readonly spooledRecords?: SpooledRecords
  }
