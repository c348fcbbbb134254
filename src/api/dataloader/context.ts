import type { Loader } from '../../tables/loader.js'
import type { CallContext, SharedContext } from '../context.js'

/** What the data loader's methods need of the context. */
export type DataLoaderContext = Pick<CallContext, 'signal'> &
  Pick<SharedContext, 'config'> & {
    readonly loader: Loader
    /** records of a body that was too large for memory: the `record_set` in the params is empty then */
    readonly spooledRecords?: SpooledRecords
  }

/** Where the elements of a `record_set` stand in a file: bytes `start` to `end`, without the brackets. */
export interface SpooledRecords {
  readonly file: string
  readonly start: number
  readonly end: number
}
