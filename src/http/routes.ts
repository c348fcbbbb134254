import { Hono } from 'hono'
import { AppError, isAppError } from '../errors.js'
import type { Log } from '../log.js'
import type { Api } from '../rpc/dispatch.js'
import { documentResponse, headersOf, isStamped, problemResponse, refusalResponse } from './answer.js'
import { addressOf, type HttpContext, type HttpEnv } from './env.js'
import type { Meter } from './metrics.js'
import { type BodyAnswerer, type RpcDeps, restHandler, rpcHandler, smallBodyAnswerer } from './rpc-routes.js'
import { requestIdOf } from './server/request-id.js'

/** One part of the gateway in `/readyz`: `reason` says why it is not ready, or what it warns of. */
export interface PartState {
  part: string
  isReady: boolean
  /** ready, yet somebody should look after it */
  isWarning?: boolean
  reason?: string
}

export interface RoutesDeps<C> extends RpcDeps<C> {
  readonly apis: readonly Api<C>[]
  /** paths whose bodies are read otherwise than whole in memory */
  readonly bodyAnswerers: ReadonlyMap<string, BodyAnswerer<C>>
  readonly log: Log
  /** the OpenRPC document of every path */
  openRpc(): unknown
  readiness(): Promise<PartState[]> | PartState[]
  isDraining(): boolean
  /** further routes, for bodies and answers that are not JSON-RPC */
  addRoutes(app: Hono<HttpEnv>): void
}

const DRAINING: PartState = { part: 'drain', isReady: false, reason: 'the gateway is stopping' }

/** Every route of the gateway. */
export function createRoutes<C>(deps: RoutesDeps<C>): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>()
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.req.header('x-request-id')))
    c.set('startedAtMs', performance.now())
    if (deps.isDraining() && !isHealthPath(c.req.path)) {
      c.res = refusalResponse(draining(), c.get('requestId'))
    } else await next()
    if (!isStamped(c.res)) addHeaders(c)
    if (deps.meter !== undefined) count(c, deps.meter)
    logRequest(c, deps.log)
  })
  addOpenPaths(app, deps)
  for (const api of deps.apis) addApi(app, api, deps)
  app.all('/api/v1/alertapi', alertUnavailable)
  app.all('/api/v1/alertapi/*', alertUnavailable)
  deps.addRoutes(app)
  app.notFound((c) => refusalResponse(notFound(c.req.path), c.get('requestId')))
  app.onError((error, c) => {
    if (!isAppError(error)) deps.onFault(c.get('requestId'), c.req.path, error)
    return refusalResponse(error, c.get('requestId'))
  })
  return app
}

/** Calls of JSON-RPC are counted one by one where they are dispatched. */
function count(c: HttpContext, meter: Meter): void {
  const { status } = c.res
  meter.response(status)
  const name = c.get('countedAs')
  if (name === undefined) return
  meter.call(name, status < 400 ? 'ok' : `HTTP_${status}`, performance.now() - c.get('startedAtMs'))
}

function draining(): AppError {
  return new AppError('UNAVAILABLE', { retryAfterS: 5 }, { message: 'The gateway is stopping' })
}

/** Puts on what every response carries, where its maker did not. */
function addHeaders(c: HttpContext): void {
  for (const [name, value] of Object.entries(headersOf(c.get('requestId'), null))) {
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  }
}

/** Everything but `allowed` gets 405 with `Allow`. For after the path's own routes: hono takes the first that fits. */
export function refuseOtherMethods(
  app: Hono<HttpEnv>,
  path: string,
  allowed: string,
  respond: (error: AppError, requestId: string) => Response = refusalResponse,
): void {
  app.all(path, (c) => {
    const message = `Found ${c.req.method}, expected ${allowed}`
    const response = respond(
      new AppError('METHOD_NOT_ALLOWED', { allow: allowed }, { message }),
      c.get('requestId'),
    )
    response.headers.set('Allow', allowed)
    return response
  })
}

function addApi<C>(app: Hono<HttpEnv>, api: Api<C>, deps: RoutesDeps<C>): void {
  const answerer = deps.bodyAnswerers.get(api.path) ?? smallBodyAnswerer(deps.bodyLimits)
  app.post(api.path, rpcHandler(api, deps, answerer))
  app.post(`${api.path}/call/:method`, restHandler(api, deps, answerer))
  refuseOtherMethods(app, api.path, 'POST')
  refuseOtherMethods(app, `${api.path}/call/:method`, 'POST', problemResponse)
}

/** What needs no key. */
function addOpenPaths<C>(app: Hono<HttpEnv>, deps: RoutesDeps<C>): void {
  app.get('/healthz', (c) => documentResponse({ status: 'alive' }, c.get('requestId')))
  app.get('/readyz', async (c) => {
    const draining = deps.isDraining()
    const parts = [...(await deps.readiness()), ...(draining ? [DRAINING] : [])]
    const isReady = parts.every((part) => part.isReady)
    const status = isReady ? 'ready' : 'not ready'
    const answer = { status, draining, parts }
    return documentResponse(
      answer,
      c.get('requestId'),
      isReady ? 200 : 503,
      isReady ? {} : { 'Retry-After': '1' },
    )
  })
  app.get('/openrpc.json', (c) => documentResponse(deps.openRpc() as object, c.get('requestId')))
  for (const path of ['/healthz', '/readyz', '/openrpc.json']) refuseOtherMethods(app, path, 'GET')
}

function alertUnavailable(c: HttpContext): Response {
  return refusalResponse(new AppError('ALERT_UNAVAILABLE'), c.get('requestId'))
}

function notFound(path: string): AppError {
  return new AppError('NOT_FOUND', {}, { message: `Nothing is served at ${path.slice(0, 200)}` })
}

function isHealthPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}

/** Failures at `info`, the rest at `debug`: a busy gateway must not wear its SD card out with log lines. */
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
