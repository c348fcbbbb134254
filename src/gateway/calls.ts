import type { Config } from '../config.js'
import type { CallDeps } from '../http/calls.js'
import type { Metrics } from '../http/metrics.js'
import { createRateLimiter } from '../http/rate-limit.js'
import type { Log } from '../log.js'
import { describeApis, type GatewayContext } from './apis.js'
import { auditHooks } from './audit.js'
import type { Services } from './services.js'

interface CallsOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly services: Services
  readonly metrics: Metrics
  /** fires when running calls must end */
  readonly stopSignal: AbortSignal
}

/**
 * Makes what every route of calls needs: sign-in, limits, the context of a call, and hooks for logs and
 * figures.
 */
export function callDeps(options: CallsOptions): CallDeps<GatewayContext> {
  const { config, log, version, services, metrics, stopSignal } = options
  const { limits } = config
  return {
    stores: services.stores,
    tokenHeader: `${config.service.headerPrefix}-Session-Token`.toLowerCase(),
    limiter: createRateLimiter(limits),
    maxBatch: limits.batch,
    maxDepth: limits.jsonDepth,
    bodyLimits: { maxBytes: limits.bodyBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
    writeIdleMs: limits.writeIdleMs,
    stopSignal,
    contextOf: (call) => ({
      ...services.shared,
      caller: call.caller,
      requestId: call.requestId,
      // a getter, because reading it makes the hang-up signal, and most calls never do
      get signal() {
        return call.signal
      },
    }),
    discover: (api) => ({
      ...describeApis([api], version),
      ...services.models.discoverFacts(api.path),
    }),
    meter: metrics,
    onFault: (requestId, method, error) => log.error({ requestId, method, err: error }, 'a call failed'),
    onHangUp: (requestId, method) =>
      log.debug({ requestId, method }, 'the caller hung up before the end of the result'),
    ...auditHooks(log),
  }
}
