import { z } from 'zod'
import { hashSecret } from '../../auth/secret.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionContext } from './open-session.js'
import { TokenParams } from './schema.js'

/** Whoever has a token may close its session; no other permission is needed. */
export const closeSession = defineMethod({
  name: 'session.close_session',
  summary: 'Ends the session of a token; returns true for an unknown token too',
  scope: 'session:write',
  params: TokenParams,
  result: z.literal(true),
  async handle({ token }, { sessions }: Pick<SessionContext, 'sessions'>) {
    await sessions.close(hashSecret(token))
    return true as const
  },
})
