import type { Datasets } from '../../datasets/datasets.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the call context that the methods of datasets use. */
export type DatasetContext = Pick<CallContext, 'caller' | 'signal'> &
  Pick<SharedContext, 'timeZoneMin'> & { readonly datasets: Datasets }
