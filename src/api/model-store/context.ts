import type { ModelStores } from '../../storage/model-stores.js'
import type { ModelRows } from '../../storage/models.js'
import type { SharedContext } from '../context.js'

/** What the room of models needs of the context. */
export type ModelStoreContext = Pick<SharedContext, 'timeZoneMin' | 'clock'> & {
  readonly models: ModelRows
  readonly modelStores: ModelStores
}
