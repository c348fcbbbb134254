import type { Hono } from 'hono'
import { respond } from './answer.js'
import { admit, type CallDeps, refusingFaults } from './calls.js'
import type { HttpEnv } from './env.js'
import type { Metrics } from './metrics.js'
import { refuseOtherMethods } from './refuse-methods.js'

export const METRICS_PATH = '/metrics'

/**
 * Adds `GET /metrics`. Any key may read it: the page holds figures and no data.
 *
 * @param isOpen true when no key is needed
 */
export function addMetricsRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  metrics: Pick<Metrics, 'page' | 'contentType'>,
  isOpen: boolean,
): void {
  app.get(METRICS_PATH, (c) =>
    refusingFaults(c, deps, METRICS_PATH, async () => {
      if (!isOpen) await admit(c, deps, 'none', { allowsBasic: true })
      const headers = { 'Content-Type': metrics.contentType }
      return respond(c.get('requestId'), 200, headers, await metrics.page())
    }),
  )
  refuseOtherMethods(app, METRICS_PATH, 'GET, HEAD')
}
