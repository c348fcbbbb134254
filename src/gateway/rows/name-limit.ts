import { invalidParams } from '../../errors.js'
import type { Loader } from '../../tables/loader.js'

interface NameLimit {
  /** @throws AppError INVALID_PARAMS when `name` is too long */
  check(param: string, name: string): void
}

/**
 * Makes the check of `limits.nameChars`, for every place that makes a table, dataset, citation or model
 * store. Names that exist are not checked, so that the limit can be lowered.
 *
 * @param maxChars Unicode code points
 */
export function createNameLimit(maxChars: number): NameLimit {
  return {
    check(param, name) {
      const chars = [...name].length
      if (chars <= maxChars) return
      const message = `found a name of ${chars} characters, expected at most ${maxChars} (limits.nameChars)`
      throw invalidParams([{ path: `$.${param}`, message }])
    },
  }
}

/** Refuses to register tables with a longer name. */
export function withNameLimit(loader: Loader, nameChars: number): Loader {
  const names = createNameLimit(nameChars)
  return {
    ...loader,
    async register(definition) {
      names.check('data_name', definition.dataName)
      return await loader.register(definition)
    },
  }
}
