import { formatDatetime } from '../../datetime.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionContext } from './open-session.js'
import { ListSessionsParams, ListSessionsResult } from './schema.js'

/** An extension of the contract: a caller sees where else its key is used. Tokens are not stored. */
export const listSessions = defineMethod({
  name: 'session.list_sessions',
  summary: 'Lists the open sessions of the key of the caller, the newest first, without their tokens',
  scope: 'session:read',
  params: ListSessionsParams,
  result: ListSessionsResult,
  async handle(
    { limit, offset },
    { caller, sessions, timeZoneMin, clock }: Omit<SessionContext, 'config' | 'newId'>,
  ) {
    const time = (us: number) => formatDatetime(us, timeZoneMin)
    const listed = await sessions.list({ keyId: caller.keyId, limit, offset })
    const open = listed.filter(({ idleAtUs }) => !clock.hasPassed(idleAtUs))
    return open.map(({ sessionId, createdAtUs, lastUsedAtUs, expiresAtUs, idleAtUs }) => ({
      session_id: sessionId,
      created_at: time(createdAtUs),
      last_used_at: time(lastUsedAtUs),
      expires_at: time(expiresAtUs),
      idle_at: idleAtUs === null ? null : time(idleAtUs),
      is_current: sessionId === caller.sessionId,
    }))
  },
})
