import { randomUUID } from 'node:crypto'

/** Returns the caller's id when it is 1 to 128 letters, digits and `._-`, a new UUID otherwise. */
export function requestIdOf(sent: string | undefined): string {
  return sent !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID()
}
