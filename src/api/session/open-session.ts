import { hashSecret } from '../../auth/secret.js'
import { type AppError, invalidParams } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SessionStore } from '../../storage/access/sessions.js'
import type { TrustedClock } from '../../storage/work/clock.js'
import type { CallContext, SharedContext } from '../context.js'
import { DEFAULT_LIFE_S, OpenSessionParams, OpenSessionResult } from './schema.js'

/** Context of the methods of sessions. */
export type SessionContext = Pick<CallContext, 'caller'> &
  Pick<SharedContext, 'config' | 'newId' | 'timeZoneMin'> & {
    readonly sessions: SessionStore
    readonly clock: Pick<TrustedClock, 'hasPassed'>
  }

export const openSession = defineMethod({
  name: 'session.open_session',
  summary:
    'Opens a session and returns its token, once. It has the permissions of its key at the time of each use',
  scope: 'session:write',
  errors: ['TOO_MANY_SESSIONS'],
  mayOverlap: true, // one commit for those of a batch
  params: OpenSessionParams,
  result: OpenSessionResult,
  async handle({ expires_in }, { caller, config, newId, sessions }: SessionContext) {
    const { maxAgeS, maxPerKey } = config.session
    if (typeof expires_in === 'number' && expires_in > maxAgeS) throw tooLong(expires_in, maxAgeS)
    const token = newId()
    const { lifeS } = await sessions.open({
      sessionId: newId(),
      tokenHash: hashSecret(token),
      keyId: caller.keyId,
      lifeS: expires_in ?? Math.min(DEFAULT_LIFE_S, maxAgeS),
      notAfterUs: caller.endsAtUs,
      mostOpen: maxPerKey,
    })
    return { access_token: token, expires_in: lifeS }
  },
})

function tooLong(found: number, maxAgeS: number): AppError {
  const message = `found ${found}, expected 1 to ${maxAgeS} seconds (session.maxAgeS)`
  return invalidParams([{ path: '$.expires_in', message }])
}
