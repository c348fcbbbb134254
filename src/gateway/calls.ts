import type { Config } from '../config/config.js'
import { isDamage } from '../errors.js'
import { createByteBudget } from '../http/byte-budget.js'
import type { CallDeps } from '../http/calls.js'
import { createCompressions } from '../http/compress.js'
import type { LineSampler } from '../http/line-sampler.js'
import type { Metrics } from '../http/metrics.js'
import { createRateLimiter } from '../http/rate-limit.js'
import type { Log } from '../log.js'
import { type RawJson, rawJson } from '../rpc/result.js'
import { createApis, describeApis, type GatewayContext, pathFinder } from './apis.js'
import { auditHooks } from './audit.js'
import type { Services } from './services.js'

/** Requests of one key, and of all, that wait for memory. */
const MAX_WAITING_PER_KEY = 64
const MAX_WAITING = 256
/** Longest wait for memory, ms. */
const MEMORY_WAIT_MS = 10_000

interface CallsOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly services: Services
  readonly metrics: Metrics
  /** decides which refused sign-ins and failed calls are logged */
  readonly refusals: LineSampler<'sign-ins' | 'forbidden' | 'faults'>
  /** fires when running calls must end */
  readonly stopSignal: AbortSignal
}

/**
 * Makes what every route of calls needs: sign-in, limits, the context of a call, and hooks for logs and
 * figures.
 */
export function callDeps(options: CallsOptions): CallDeps<GatewayContext> {
  const { config, log, version, services, metrics, refusals, stopSignal } = options
  const { limits } = config
  return {
    stores: services.stores,
    tokenHeader: `${config.service.headerPrefix}-Session-Token`.toLowerCase(),
    limiter: createRateLimiter(limits),
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
    contextOf: (call) => ({
      ...services.shared,
      caller: call.caller,
      requestId: call.requestId,
      noteSearchMs: call.noteSearchMs,
      // a getter, because reading it makes the hang-up signal, and most calls never do
      get signal() {
        return call.signal
      },
    }),
    discover: createDiscovery(version, services),
    pathOf: pathFinder(createApis(config)),
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
function createDiscovery(
  version: string,
  { models }: Pick<Services, 'models'>,
): CallDeps<GatewayContext>['discover'] {
  const made = new Map<string, RawJson>()
  return (api) => {
    let document = made.get(api.path)
    if (document === undefined) {
      document = rawJson(
        JSON.stringify({ ...describeApis([api], version), ...models.discoverFacts(api.path) }),
      )
      made.set(api.path, document)
    }
    return document
  }
}
