import type { DatasetStore } from '../../storage/sqlite/datasets/store.js'
import type { CallContext, SharedContext } from '../context.js'

/** What the room of datasets needs of the context. */
export type DatasetContext = Pick<CallContext, 'caller' | 'signal'> &
  Pick<SharedContext, 'timeZoneMin'> & { readonly datasets: DatasetStore }
