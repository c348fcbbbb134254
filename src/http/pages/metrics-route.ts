import type { Hono } from 'hono'
import { documentResponse, respond } from '../answer.js'
import { admit, type CallDeps, refusingFaults } from '../calls.js'
import type { HttpEnv } from '../env.js'
import type { Metrics } from '../metrics.js'
import { refuseOtherMethods } from '../refuse-methods.js'

export const METRICS_PATH = '/metrics'
const HISTORY_PATH = '/metrics/history'

/** Figures of a day. */
interface History {
  readonly names: readonly string[]
  readonly everyS: number
  samples(): readonly (readonly (number | null)[])[]
}

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

/** Adds `GET /metrics/history`, figures of a day, for whom `/metrics` is. @param isOpen true when no key is needed */
export function addHistoryRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  history: History,
  isOpen: boolean,
): void {
  app.get(HISTORY_PATH, (c) =>
    refusingFaults(c, deps, HISTORY_PATH, async () => {
      if (!isOpen) await admit(c, deps, 'none', { allowsBasic: true })
      const body = { every_s: history.everyS, names: history.names, samples: history.samples() }
      return documentResponse(body, c.get('requestId'), 200, { 'Cache-Control': 'no-store' })
    }),
  )
  refuseOtherMethods(app, HISTORY_PATH, 'GET, HEAD')
}
