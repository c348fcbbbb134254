import type { ConsoleFacts } from './facts.js'

/**
 * Session of the signed-in user. It is held in memory only: a reload of the page forgets it, sign-out closes
 * it at the gateway.
 */
export interface Session {
  readonly token: string
  readonly keyId: string
  /** ms since 1970 */
  readonly endsAtMs: number
}

/** Mark in the storage of the tab, which holds no secret: tells a reload from a first visit. */
const MARK = 'fieldgate-signed-in'

let known: ConsoleFacts | undefined
let open: Session | undefined
let onChange: (why: 'signed-in' | 'signed-out' | 'ended') => void = () => undefined

/** Loads the facts that every page needs. Called once, before anything is shown. */
export async function loadFacts(): Promise<void> {
  const response = await fetch('/console/facts.json', { credentials: 'omit' })
  if (!response.ok) throw new Error(`Found HTTP ${response.status}`)
  known = (await response.json()) as ConsoleFacts
}

/** @throws Error before `loadFacts` has finished */
export function facts(): ConsoleFacts {
  if (known === undefined) throw new Error('the facts have not been loaded')
  return known
}

/** Current session; undefined when nobody is signed in. */
export function session(): Session | undefined {
  return open
}

/** Starts using a session that was opened. */
export function signedIn(next: Session): void {
  open = next
  sessionStorage.setItem(MARK, 'yes')
  onChange('signed-in')
}

/** Forgets the session. @param why `ended` when the gateway no longer accepts its token */
export function signedOut(why: 'signed-out' | 'ended'): void {
  open = undefined
  sessionStorage.removeItem(MARK)
  onChange(why)
}

/** Returns true when a reload of the page has ended a session. */
export function wasReloaded(): boolean {
  return open === undefined && sessionStorage.getItem(MARK) !== null
}

/** Sets the one listener that is called after each change. */
export function whenSessionChanges(act: typeof onChange): void {
  onChange = act
}
