import { hashSecret } from '../../auth/secret.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionContext } from './open-session.js'
import { TokenParams, VerifyResult } from './schema.js'

export const verifySessionToken = defineMethod({
  name: 'session.verify_session_token',
  summary:
    'Reports whether a session token is valid now; unknown, malformed, closed and expired ones are not',
  scope: 'session:read',
  params: TokenParams,
  result: VerifyResult,
  async handle({ token }, { sessions }: Pick<SessionContext, 'sessions'>) {
    return { active: (await sessions.findOpen(hashSecret(token), true)) !== undefined }
  },
})
