import type { Method } from '../../rpc/define-method.js'
import { closeSession } from './close-session.js'
import { endSession } from './end-session.js'
import { listSessions } from './list-sessions.js'
import { openSession, type SessionContext } from './open-session.js'
import { verifySessionToken } from './verify-session-token.js'

export type { SessionContext } from './open-session.js'

/** Methods of `/api/v1/session/jsonrpc`. */
export const SESSION_METHODS: readonly Method<SessionContext>[] = [
  openSession,
  verifySessionToken,
  closeSession,
  listSessions,
  endSession,
]
