import { z } from 'zod'

/**
 * Makes the message for a text that may be a secret with a slip of the pen: it tells its length, and nothing of what it holds.
 *
 * @param expected begins with `expected`
 */
export function hiddenFault(
  expected: string,
): (issue: { readonly code?: string; readonly input?: unknown }) => string | undefined {
  return ({ code, input }) => {
    if (code === 'too_small' || code === 'too_big') return undefined // it tells the length already
    if (typeof input === 'string')
      return `found ${input.length === 1 ? '1 character' : `${input.length} characters`} of another form, ${expected}`
    // what is missing, and what holds other values, is told as elsewhere
    return typeof input === 'object' || input === undefined ? undefined : `found no text, ${expected}`
  }
}

const isHidden = hiddenFault('expected printable ASCII without spaces')

/** Half of a key for another gateway. */
export const Credential = z
  .string({ error: isHidden })
  .min(1)
  .max(1000)
  .regex(/^[\x21-\x7e]+$/, { error: isHidden })
