import { Hono } from 'hono'
import { AppError, isAppError } from '../errors.js'
import type { Log } from '../log.js'
import { commonHeaders, hasCommonHeaders, refusalResponse } from './answer.js'
import { addressOf, type HttpContext, type HttpEnv } from './env.js'
import { isHealthPath } from './health-routes.js'
import type { Meter } from './metrics.js'
import { requestIdOf } from './server/request-id.js'

interface AppDeps {
  readonly log: Log
  /** absent where nothing is counted */
  readonly meter?: Meter
  /** true while the gateway stops: every call is refused */
  isDraining(): boolean
  /** receives errors that are no refusal */
  onFault(requestId: string, path: string, error: unknown): void
}

/**
 * Makes the frame of all routes: request ids, headers, counters and log lines, and refusals of unknown paths.
 */
export function createApp(deps: AppDeps): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>()
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.req.header('x-request-id')))
    c.set('startedAtMs', performance.now())
    if (deps.isDraining() && !isHealthPath(c.req.path)) {
      const stopping = new AppError('UNAVAILABLE', { retryAfterS: 5 }, { message: 'The gateway is stopping' })
      c.res = refusalResponse(stopping, c.get('requestId'))
    } else await next()
    addMissingHeaders(c)
    if (deps.meter !== undefined) count(c, deps.meter)
    logRequest(c, deps.log)
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

/** Logs refusals at `info`, the rest at `debug`: the lines of a busy gateway would wear out its SD card. */
function logRequest(c: HttpContext, log: Log): void {
  const line = {
    requestId: c.get('requestId'),
    method: c.req.method,
    path: c.req.path,
    status: c.res.status,
    ms: Math.round((performance.now() - c.get('startedAtMs')) * 10) / 10,
    address: addressOf(c),
    key: c.get('caller')?.keyName,
  }
  if (c.res.status >= 400) log.info(line, 'request refused')
  else log.debug(line, 'request')
}
