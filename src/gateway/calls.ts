import type { AuthStores } from '../auth/authenticate.js'
import type { Config } from '../config/config.js'
import { isDamage } from '../errors.js'
import { createCompressions } from '../http/bodies/compress.js'
import { createByteBudget } from '../http/byte-budget.js'
import type { CallDeps } from '../http/calls.js'
import type { LineSampler } from '../http/line-sampler.js'
import type { Metrics } from '../http/metrics.js'
import type { RateLimiter } from '../http/rate-limit.js'
import { kept } from '../kept.js'
import type { Log } from '../log.js'
import type { Api } from '../rpc/dispatch.js'
import { type RawJson, rawJson } from '../rpc/result.js'
import { describeApis, pathFinder } from './apis.js'
import { auditHooks } from './audit.js'

/** Requests of one key, and of all, that wait for memory. */
const MAX_WAITING_PER_KEY = 64
const MAX_WAITING = 256
/** Longest wait for memory, ms. */
const MEMORY_WAIT_MS = 10_000

export interface CallsOptions<C> {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly stores: AuthStores
  /** every API that is answered here */
  readonly apis: readonly Api<C>[]
  readonly contextOf: CallDeps<C>['contextOf']
  /** Returns the facts that `rpc.discover` adds to the methods of a path. */
  discoverFacts(path: string): object
  /** allowances of callers */
  readonly limiter: RateLimiter
  readonly metrics: Metrics
  /** decides which refused sign-ins and failed calls are logged */
  readonly refusals: LineSampler<'sign-ins' | 'forbidden' | 'faults'>
  /** fires when running calls must end */
  readonly stopSignal: AbortSignal
  /** fires when the gateway begins to stop */
  readonly drainSignal: AbortSignal
}

/**
 * Makes what every route of calls needs: sign-in, limits, the context of a call, and hooks for logs and
 * figures.
 */
export function callDeps<C>(options: CallsOptions<C>): CallDeps<C> {
  const { config, log, metrics, refusals, stopSignal, drainSignal } = options
  const { limits } = config
  return {
    stores: options.stores,
    tokenHeader: `${config.service.headerPrefix}-Session-Token`.toLowerCase(),
    limiter: options.limiter,
    maxBatch: limits.batch,
    maxDepth: limits.jsonDepth,
    bodyLimits: { maxBytes: limits.bodyBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
    budget: createByteBudget({
      totalBytes: limits.bytesInFlight,
      maxWaitingPerOwner: MAX_WAITING_PER_KEY,
      maxWaiting: MAX_WAITING,
      waitMs: MEMORY_WAIT_MS,
    }),
    writeIdleMs: limits.writeIdleMs,
    compressions: createCompressions(limits.compressedAnswers),
    stopSignal,
    drainSignal,
    contextOf: options.contextOf,
    discover: createDiscovery(options),
    pathOf: pathFinder(options.apis),
    meter: metrics,
    onFault(requestId, method, error) {
      // a disk that is dead for ten minutes would fill the log; damage is rare, and each line names what is lost
      if (isDamage(error) || refusals.allows('faults'))
        log.error({ requestId, method, err: error }, 'a call failed')
    },
    onHangUp: (requestId, method) =>
      log.debug({ requestId, method }, 'the caller hung up before the end of the result'),
    ...auditHooks(log, refusals),
  }
}

/** Makes `rpc.discover` of each path. The document does not change, so that it is made once. */
function createDiscovery<C>({
  version,
  discoverFacts,
}: Pick<CallsOptions<C>, 'version' | 'discoverFacts'>): CallDeps<C>['discover'] {
  const documents = new Map<string, () => Promise<RawJson>>()
  return async (api) => {
    let document = documents.get(api.path)
    if (document === undefined) {
      document = kept(async () => {
        const described = await describeApis([api], version)
        return rawJson(JSON.stringify({ ...described, ...discoverFacts(api.path) }))
      })
      documents.set(api.path, document)
    }
    return await document()
  }
}
