import { Hono } from 'hono'
import { AppError, isAppError } from '../errors.js'
import type { Log } from '../log.js'
import { commonHeaders, hasCommonHeaders, refusalResponse } from './answer.js'
import type { ClientAddress } from './client-address.js'
import { crossOriginFault } from './cross-origin.js'
import { addressOf, type HttpContext, type HttpEnv, hasCredentials, headerOf } from './env.js'
import { isHealthPath } from './health-routes.js'
import type { LineSampler } from './line-sampler.js'
import type { Meter } from './metrics.js'
import type { RateLimiter } from './rate-limit.js'
import { createRouter } from './router.js'
import { requestIdOf } from './server/request-id.js'

interface AppDeps {
  readonly log: Log
  /** decides which refusals are logged */
  readonly refusals: LineSampler<'strangers' | 'callers'>
  /** absent where nothing is counted */
  readonly meter?: Meter
  /** true while the gateway stops: every call is refused */
  isDraining(): boolean
  readonly clientAddress: ClientAddress
  readonly limiter: Pick<RateLimiter, 'chargeAnonymous'>
  /** lower-case name of the session token header */
  readonly tokenHeader: string
  /** origin of `server.publicUrl`, whose pages may write */
  readonly publicOrigin?: string | undefined
  /** true where the gateway itself speaks TLS: browsers are told to come by https alone */
  readonly hasTls?: boolean
  /** receives errors that are no refusal */
  onFault(requestId: string, path: string, error: unknown): void
}

/**
 * Makes the frame of all routes: request ids, headers, counters and log lines, and refusals of unknown paths.
 */
export function createApp(deps: AppDeps): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>({ router: createRouter() })
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(headerOf(c, 'x-request-id')))
    c.set('startedAtMs', performance.now())
    c.set(
      'address',
      deps.clientAddress(c.env?.incoming?.socket?.remoteAddress, (name) => headerOf(c, name)),
    )
    const refused = isHealthPath(c.req.path) ? undefined : refusalBefore(c, deps)
    if (refused === undefined) await next()
    else c.res = refusalResponse(refused, c.get('requestId'))
    if (refused === undefined) await chargeUnchecked(c, deps)
    addMissingHeaders(c)
    addSecurityHeaders(c, deps)
    if (deps.meter !== undefined) count(c, deps.meter)
    logRequest(c, deps)
  })
  app.notFound((c) => {
    const message = `Nothing is served at ${c.req.path.slice(0, 200)}`
    return refusalResponse(new AppError('NOT_FOUND', {}, { message }), c.get('requestId'))
  })
  app.onError((error, c) => {
    if (!isAppError(error)) deps.onFault(c.get('requestId'), c.req.path, error)
    return refusalResponse(error, c.get('requestId'))
  })
  return app
}

/**
 * Returns the refusal of a request before its route: while the gateway stops, when a stranger asks too often,
 * and when a page of another site writes. Health is always answered: it costs as little as a refusal.
 */
function refusalBefore(c: HttpContext, deps: AppDeps): AppError | undefined {
  if (deps.isDraining())
    return new AppError('UNAVAILABLE', { retryAfterS: 5 }, { message: 'The gateway is stopping' })
  try {
    if (!hasCredentials(c, deps.tokenHeader)) deps.limiter.chargeAnonymous(addressOf(c))
    return crossOriginFault(c, deps.publicOrigin)
  } catch (error) {
    if (isAppError(error)) return error
    throw error
  }
}

/**
 * Charges a request whose credentials no route has checked, as that of a stranger: any text in their headers
 * would otherwise pass by the allowance of strangers.
 */
async function chargeUnchecked(c: HttpContext, deps: AppDeps): Promise<void> {
  if (c.get('isSignInTried') === true || isHealthPath(c.req.path)) return
  if (!hasCredentials(c, deps.tokenHeader)) return // charged before
  try {
    deps.limiter.chargeAnonymous(addressOf(c))
  } catch (error) {
    if (!isAppError(error)) throw error
    await c.res.body?.cancel()
    c.res = undefined // hono would add the headers of the response before
    c.res = refusalResponse(error, c.get('requestId'))
  }
}

/** Time for which browsers come by https alone, s: a year, as OWASP ASVS 5 (3.4.1) asks. */
const HSTS = 'max-age=31536000'

/**
 * Adds how to sign in to a refusal for want of credentials, and HSTS where TLS is on. A challenge of Basic
 * makes browsers remember the secret, so it is sent only where programs need it.
 */
function addSecurityHeaders(c: HttpContext, { hasTls = false }: AppDeps): void {
  if (c.res.status === 401) {
    const scheme = c.get('acceptsBasic') === true ? 'Basic' : 'APIKey'
    c.res.headers.set('WWW-Authenticate', `${scheme} realm="fieldgate", charset="UTF-8"`)
  }
  if (hasTls) c.res.headers.set('Strict-Transport-Security', HSTS)
}

/** Adds the common headers to a response that a library made; `respond` gives them to the others. */
function addMissingHeaders(c: HttpContext): void {
  if (hasCommonHeaders(c.res)) return
  for (const [name, value] of Object.entries(commonHeaders(c.get('requestId'))))
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
}

/** Counts a request. Calls of JSON-RPC are counted one by one where they are dispatched. */
function count(c: HttpContext, meter: Meter): void {
  const { status } = c.res
  meter.response(status)
  const name = c.get('countedAs')
  if (name === undefined) return
  meter.call(name, status < 400 ? 'ok' : `HTTP_${status}`, performance.now() - c.get('startedAtMs'))
}

/**
 * Logs refusals at `info`, the rest at `debug`: the lines of a busy gateway would wear out its SD card.
 * Refusals are sampled, those of strangers apart from those of callers.
 */
function logRequest(c: HttpContext, { log, refusals }: AppDeps): void {
  const isRefusal = c.res.status >= 400
  if (isRefusal && !refusals.allows(c.get('caller') === undefined ? 'strangers' : 'callers')) return
  const line = {
    requestId: c.get('requestId'),
    method: c.req.method,
    path: c.req.path,
    status: c.res.status,
    ms: Math.round((performance.now() - c.get('startedAtMs')) * 10) / 10,
    address: addressOf(c),
    key: c.get('caller')?.keyName,
  }
  if (isRefusal) log.info(line, 'request refused')
  else log.debug(line, 'request')
}
