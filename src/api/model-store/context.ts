import type { SignaturePolicy } from '../../models/signature/policy.js'
import type { ModelStores } from '../../storage/models/model-stores.js'
import type { ModelRows } from '../../storage/models/models.js'
import type { SharedContext } from '../context.js'

/** Context of the methods of model stores. */
export type ModelStoreContext = Pick<SharedContext, 'timeZoneMin' | 'clock'> & {
  readonly models: ModelRows
  readonly modelStores: ModelStores
  readonly signatures: Pick<SignaturePolicy, 'stateOf' | 'trustedHints'>
}
