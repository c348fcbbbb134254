import { randomUUID } from 'node:crypto'

/** The caller's own id when it is sane (1 to 128 letters, digits and `._-`), a fresh UUID otherwise. */
export function requestIdOf(sent: string | undefined): string {
  return sent !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID()
}
