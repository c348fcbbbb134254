import type { SmallReads } from '../../storage/tables.js'
import type { Readers } from '../../worker/reader-pool.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of event data and risk maps use. */
export type MapContext = Pick<CallContext, 'signal' | 'caller'> &
  Pick<SharedContext, 'timeZoneMin'> & {
    readonly readers: Readers
    /** absent where every read goes to a reader thread */
    readonly smallReads?: SmallReads
  }
