import type { Hono } from 'hono'
import { documentResponse } from './answer.js'
import type { HttpEnv } from './env.js'
import { refuseOtherMethods } from './refuse-methods.js'
import { requestIdOf } from './server/request-id.js'

/** State of one part of the gateway in `/readyz`. */
export interface PartState {
  part: string
  isReady: boolean
  /** ready, with a fault that an operator should mend */
  isWarning?: boolean
  /** why it is not ready, or the warning */
  reason?: string
}

interface HealthDeps {
  readiness(): Promise<PartState[]> | PartState[]
  isDraining(): boolean
}

const DRAINING: PartState = { part: 'drain', isReady: false, reason: 'the gateway is stopping' }

/** Adds `/healthz` and `/readyz`, which need no key. */
export function addHealthRoutes(app: Hono<HttpEnv>, deps: HealthDeps): void {
  app.get('/healthz', (c) => aliveResponse(c.get('requestId')))
  app.get('/readyz', async (c) => {
    const draining = deps.isDraining()
    const parts = [...(await deps.readiness())]
    if (draining) parts.push(DRAINING)
    return readyResponse(parts, draining, c.get('requestId'))
  })
  for (const path of ['/healthz', '/readyz']) refuseOtherMethods(app, path, 'GET')
}

/** True for the paths that are answered while the gateway starts or stops. */
export function isHealthPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}

/** Makes the response of `/healthz`. */
export function aliveResponse(requestId = requestIdOf(undefined)): Response {
  return documentResponse({ status: 'alive' }, requestId)
}

/** Makes the response of `/readyz`: 200 when every part is ready, 503 otherwise. */
export function readyResponse(
  parts: readonly PartState[],
  draining: boolean,
  requestId = requestIdOf(undefined),
): Response {
  if (parts.every((part) => part.isReady))
    return documentResponse({ status: 'ready', draining, parts }, requestId)
  const headers = { 'Retry-After': '1' }
  return documentResponse({ status: 'not ready', draining, parts }, requestId, 503, headers)
}
