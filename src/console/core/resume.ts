import { call, isFault } from './rpc.js'
import { keptSession, session, signedIn, signedOut } from './session.js'

/**
 * Goes on with the session that the tab has kept through a reload, after asking the gateway once whether it still
 * accepts the token. Without an answer the session stays: pages report a lost connection by themselves.
 *
 * @returns `ended` when there was a session and it is over
 */
export async function resumeSession(): Promise<'ended' | undefined> {
  const kept = keptSession(Date.now())
  if (kept === undefined || kept === 'ended') return kept
  signedIn(kept)
  try {
    const { active } = await call<{ active: boolean }>('session.verify_session_token', { token: kept.token })
    if (!active) signedOut('ended')
  } catch (error) {
    // 401 has ended the session; a key without `session:read` is refused with 403, and its token is accepted
    if (!isFault(error)) throw error
  }
  return session() === undefined ? 'ended' : undefined
}
