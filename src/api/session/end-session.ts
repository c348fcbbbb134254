import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionContext } from './open-session.js'
import { EndSessionParams } from './schema.js'

/** An extension of the contract: ends a session whose token the caller does not have, such as a stolen one. */
export const endSession = defineMethod({
  name: 'session.end_session',
  summary:
    'Ends a session of the key of the caller by its id; returns false when the key has no open session of this id',
  scope: 'session:write',
  params: EndSessionParams,
  result: z.boolean(),
  async handle({ session_id }, { caller, sessions }: Pick<SessionContext, 'caller' | 'sessions'>) {
    return (await sessions.end(session_id, caller.keyId)) !== undefined
  },
})
