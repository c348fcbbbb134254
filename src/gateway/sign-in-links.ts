import { randomBytes } from 'node:crypto'
import { hashSecret } from '../auth/secret.js'
import { createSignInCodes } from '../auth/sign-in-codes.js'
import type { Config } from '../config/config.js'
import type { Log } from '../log.js'
import type { SessionStore } from '../storage/access/sessions.js'

interface LinkParts {
  readonly sessions: Pick<SessionStore, 'open'>
  readonly config: Pick<Config, 'session'>
  readonly log: Log
  newId(): string
}

const CODE_BYTES = 24
/** Life of a session that a link opens: a day of work. */
const SESSION_LIFE_S = 12 * 3600

/** Links that sign in once: the code of each, and the session that it opens. */
export interface SignInLinks {
  /** Makes the code of a link that signs a key in. */
  offer(keyId: string): string
  /** Opens a session for a code. @throws AppError TOO_MANY_SESSIONS */
  open(code: string): Promise<{ token: string; keyId: string; lifeS: number } | undefined>
}

export function createSignInLinks({ sessions, config, log, newId }: LinkParts): SignInLinks {
  const codes = createSignInCodes()
  return {
    offer(keyId) {
      const code = randomBytes(CODE_BYTES).toString('base64url')
      codes.offer(code, keyId)
      return code
    },
    async open(code) {
      const keyId = codes.take(code)
      if (keyId === undefined) return undefined
      const { maxAgeS, maxPerKey } = config.session
      const token = newId()
      const { lifeS } = await sessions.open({
        ...{ sessionId: newId(), tokenHash: hashSecret(token), keyId, notAfterUs: null, mostOpen: maxPerKey },
        lifeS: Math.min(SESSION_LIFE_S, maxAgeS),
      })
      log.info({ audit: true, act: 'sign-in-link', apiKey: keyId }, 'a one-time link was used')
      return { token, keyId, lifeS }
    },
  }
}
