import type { ModelRows } from '../../storage/sqlite/models/model.js'
import type { Lists } from '../../storage/sqlite/models/model-list.js'
import type { ModelStores } from '../../storage/sqlite/models/model-store.js'
import type { SharedContext } from '../context.js'

/** What the room of models needs of the context. */
export type ModelStoreContext = Pick<SharedContext, 'timeZoneMin' | 'clock'> & {
  readonly models: ModelRows
  readonly modelStores: ModelStores
  readonly lists: Lists
}
