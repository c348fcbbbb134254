import type { ConsoleFacts } from './facts.js'

/** Who is signed in. It lives in memory alone: a reload of the page ends it here, sign-out ends it at the gateway. */
export interface Session {
  readonly token: string
  readonly keyId: string
  /** ms since 1970 */
  readonly endsAtMs: number
}

let known: ConsoleFacts | undefined
let open: Session | undefined
let onChange: (why: 'signed-in' | 'signed-out' | 'ended') => void = () => undefined

/** Asks the gateway for what the page must know; first of all. */
export async function loadFacts(): Promise<void> {
  const response = await fetch('/console/facts.json', { credentials: 'omit' })
  known = (await response.json()) as ConsoleFacts
}

export function facts(): ConsoleFacts {
  if (known === undefined) throw new Error('the facts are loaded first')
  return known
}

export function session(): Session | undefined {
  return open
}

export function signedIn(next: Session): void {
  open = next
  onChange('signed-in')
}

export function signedOut(why: 'signed-out' | 'ended'): void {
  open = undefined
  onChange(why)
}

export function whenSessionChanges(act: typeof onChange): void {
  onChange = act
}
