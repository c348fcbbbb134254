import type { ConsoleFacts } from './facts.js'

/**
 * Session of the signed-in user. The storage of the tab keeps it through a reload, never the secret of the key;
 * closing the tab forgets it, sign-out closes it at the gateway.
 */
export interface Session {
  readonly token: string
  readonly keyId: string
  /** ms since 1970 */
  readonly endsAtMs: number
}

/** Key in the storage of the tab, which no other tab reads; a tab that is duplicated begins with a copy. */
const KEPT = 'fieldgate-session'

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

/** Starts using a session that was opened, or that the tab has kept. */
export function signedIn(next: Session): void {
  open = next
  const { token, keyId, endsAtMs } = next
  sessionStorage.setItem(KEPT, JSON.stringify({ token, keyId, endsAtMs }))
  onChange('signed-in')
}

/** Forgets the session. @param why `ended` when the gateway no longer accepts its token */
export function signedOut(why: 'signed-out' | 'ended'): void {
  open = undefined
  sessionStorage.removeItem(KEPT)
  onChange(why)
}

/** Session that the tab has kept, `ended` when its time is over, undefined when there is none. */
export function keptSession(nowMs: number): Session | 'ended' | undefined {
  const kept = readKept(sessionStorage.getItem(KEPT))
  if (kept === undefined || kept.endsAtMs > nowMs) return kept
  sessionStorage.removeItem(KEPT)
  return 'ended'
}

/** @returns undefined for a text that is no session */
function readKept(text: string | null): Session | undefined {
  let found: unknown
  try {
    found = JSON.parse(text ?? 'null')
  } catch {
    return undefined // another program of this address wrote it
  }
  if (typeof found !== 'object' || found === null) return undefined
  const { token, keyId, endsAtMs } = found as Record<keyof Session, unknown>
  if (typeof token !== 'string' || typeof keyId !== 'string' || typeof endsAtMs !== 'number') return undefined
  return { token, keyId, endsAtMs }
}

/** Sets the one listener that is called after each change. */
export function whenSessionChanges(act: typeof onChange): void {
  onChange = act
}
