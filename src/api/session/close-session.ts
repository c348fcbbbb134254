import { z } from 'zod'
import { hashSecret } from '../../auth/secret.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionContext } from './open-session.js'
import { TokenParams } from './schema.js'

/** Who holds a token may close its session: the token is all the power there is over it. */
export const closeSession = defineMethod({
  name: 'session.close_session',
  summary: 'Ends the session of a token; true also when there is none',
  scope: 'session:write',
  params: TokenParams,
  result: z.literal(true),
  async handle({ token }, { sessions }: Pick<SessionContext, 'sessions'>) {
    await sessions.close(hashSecret(token))
    return true as const
  },
})
