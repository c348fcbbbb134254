import type { ModelStores } from '../storage/models/model-stores.js'

/**
 * Returns model stores that check the names of new stores: in `create`, and in `find` where an upload would
 * create the store. Existing names are not checked, so that the limit can be lowered.
 *
 * @param check throws AppError INVALID_PARAMS for a name that is too long
 * @param autoCreate uploads create unknown stores
 */
export function withNameCheck(
  stores: ModelStores,
  check: (name: string) => void,
  autoCreate: boolean,
): ModelStores {
  return {
    ...stores,
    async create(name) {
      check(name)
      return await stores.create(name)
    },
    async find(name) {
      const found = await stores.find(name)
      if (found === undefined && autoCreate) check(name)
      return found
    },
  }
}
