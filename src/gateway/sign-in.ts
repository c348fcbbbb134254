import type { AuthStores } from '../auth/authenticate.js'
import type { State } from '../storage/state.js'

/** Returns what sign-in needs of the rows. */
export function authStores({ keys, sessions }: Pick<State, 'keys' | 'sessions'>): AuthStores {
  return {
    findKey: (keyId) => keys.findActive(keyId),
    findSession: (tokenHash) => sessions.findOpen(tokenHash),
    noteUse({ keyId, sessionId }) {
      keys.noteUse(keyId)
      if (sessionId !== null) sessions.noteUse(sessionId)
    },
  }
}
