import type { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { documentResponse } from '../answer.js'
import { type CallDeps, refusingFaults } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { tooManyFailures } from '../rate-limit.js'
import { readBody } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** Session that a code has opened. */
interface OpenedSession {
  readonly token: string
  readonly keyId: string
  readonly lifeS: number
}

interface SignInRouteDeps<C> {
  readonly calls: CallDeps<C>
  /** opens a session for a code, which is used up; undefined for one that is not valid */
  open(code: string): Promise<OpenedSession | undefined>
}

const SIGN_IN_PATH = '/console/sign-in'
const MAX_BODY_BYTES = 1000

/**
 * Adds `POST /console/sign-in`: a session for the code of a one-time link. The code comes in the body, since paths
 * are logged.
 */
export function addSignInRoute<C>(app: Hono<HttpEnv>, deps: SignInRouteDeps<C>): void {
  app.post(SIGN_IN_PATH, (c) => {
    c.set('countedAs', 'console sign-in')
    return refusingFaults(c, deps.calls, SIGN_IN_PATH, () => answer(c, deps))
  })
  refuseOtherMethods(app, SIGN_IN_PATH, 'POST')
}

async function answer<C>(c: HttpContext, { calls, open }: SignInRouteDeps<C>): Promise<Response> {
  const body = await readBody(c, { ...calls.bodyLimits, maxBytes: MAX_BODY_BYTES })
  const opened = await open(codeOf(body))
  if (opened === undefined) {
    const { retryAfterS } = await calls.limiter.countFailure(addressOf(c), null)
    if (retryAfterS !== undefined) throw tooManyFailures(retryAfterS)
    const message = 'The sign-in link is not valid: it works once, and for ten minutes'
    throw new AppError('NOT_FOUND', {}, { message })
  }
  const { token, keyId, lifeS } = opened
  const result = { access_token: token, api_key: keyId, expires_in: lifeS }
  return documentResponse({ result }, c.get('requestId'), 200, { 'Cache-Control': 'no-store' })
}

/** Reads `{ "code": … }`; anything else is a code that does not exist. */
function codeOf(body: Uint8Array): string {
  try {
    const { code }: { code?: unknown } = JSON.parse(new TextDecoder().decode(body)) ?? {}
    return typeof code === 'string' ? code : ''
  } catch {
    return ''
  }
}
