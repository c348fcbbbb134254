import type { SpooledRecords } from '../../tables/load-jobs.js'
import type { Loader } from '../../tables/loader.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of the data loader use. */
export type DataLoaderContext = Pick<CallContext, 'signal' | 'caller'> &
  Pick<SharedContext, 'config'> & {
    readonly loader: Loader
    /** records of a body that was too large for memory; `record_set` in the params is empty then */
    readonly spooledRecords?: SpooledRecords
  }
