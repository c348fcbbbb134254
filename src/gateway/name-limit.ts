import { invalidParams } from '../errors.js'

/** Names that do not exist yet are held to `limits.nameChars` where they would be made, whichever API brings them. */
export interface NameLimit {
  /** @throws AppError INVALID_PARAMS */
  check(param: string, name: string): void
}

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
