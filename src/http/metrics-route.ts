import type { Hono } from 'hono'
import { isAppError } from '../errors.js'
import { headersOf, refusalResponse, stamp } from './answer.js'
import { addressOf, type HttpEnv } from './env.js'
import type { Metrics } from './metrics.js'
import { refuseOtherMethods } from './routes.js'
import { type RpcDeps, signIn } from './rpc-routes.js'

export const METRICS_PATH = '/metrics'

/** `GET /metrics`. Any key may read it (the page holds figures, no data); `isOpen` asks for none. */
export function addMetricsRoute<C>(
  app: Hono<HttpEnv>,
  deps: RpcDeps<C>,
  metrics: Pick<Metrics, 'page' | 'contentType'>,
  isOpen: boolean,
): void {
  app.get(METRICS_PATH, async (c) => {
    const requestId = c.get('requestId')
    try {
      if (!isOpen) {
        const { keyId } = await signIn(c, deps)
        await deps.limiter.charge(keyId, addressOf(c), 1)
      }
      const headers = headersOf(requestId, metrics.contentType)
      return stamp(new Response(await metrics.page(), { headers }))
    } catch (error) {
      if (!isAppError(error)) deps.onFault(requestId, METRICS_PATH, error)
      return refusalResponse(error, requestId)
    }
  })
  refuseOtherMethods(app, METRICS_PATH, 'GET, HEAD')
}
