import { hashSecret } from '../../auth/secret.js'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionStore } from '../../storage/sessions.js'
import type { CallContext, SharedContext } from '../context.js'
import { DEFAULT_LIFE_S, OpenSessionParams, OpenSessionResult } from './schema.js'

/** What the room of sessions needs of the context. */
export type SessionContext = Pick<CallContext, 'caller'> &
  Pick<SharedContext, 'config' | 'newId'> & { readonly sessions: SessionStore }

export const openSession = defineMethod({
  name: 'session.open_session',
  summary: 'Opens a session and returns its token, once; it may do what its key may do when it is used',
  scope: 'session:write',
  params: OpenSessionParams,
  result: OpenSessionResult,
  async handle({ expires_in }, { caller, config, newId, sessions }: SessionContext) {
    const { maxAgeS } = config.session
    if (typeof expires_in === 'number' && expires_in > maxAgeS) throw tooLong(expires_in, maxAgeS)
    const token = newId()
    const { lifeS } = await sessions.open({
      sessionId: newId(),
      tokenHash: hashSecret(token),
      keyId: caller.keyId,
      lifeS: expires_in ?? Math.min(DEFAULT_LIFE_S, maxAgeS),
      notAfterUs: caller.sessionEndsAtUs,
    })
    return { access_token: token, expires_in: lifeS }
  },
})

function tooLong(found: number, maxAgeS: number): AppError {
  const message = `found ${found}, expected 1 to ${maxAgeS} seconds (session.maxAgeS)`
  const faults = [{ path: '$.expires_in', message }]
  return new AppError('INVALID_PARAMS', { faults }, { message: `Invalid params: $.expires_in: ${message}` })
}
