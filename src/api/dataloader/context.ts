import type { RetentionRunner } from '../../retention/runner.js'
import type { SpooledRecords } from '../../tables/load-jobs.js'
import type { Loader } from '../../tables/loader.js'
import type { Retention } from '../../tables/retention.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of the data loader use. */
export type DataLoaderContext = Pick<CallContext, 'signal' | 'caller'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & {
    readonly loader: Loader
    /** rules of tables, and the removal of their old rows */
    readonly retention: Retention & Pick<RetentionRunner, 'wake' | 'stateOf'>
    /** records of a body that was too large for memory; `record_set` in the params is empty then */
    readonly spooledRecords?: SpooledRecords
  }

/** The same on a hub, whose rows do not go by themselves. */
export type HubLoaderContext = Omit<DataLoaderContext, 'retention'>
