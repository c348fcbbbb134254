import { setTimeout as sleep } from 'node:timers/promises'
import { isAppError } from '../../errors.js'
import type { PartState } from '../../http/health-routes.js'
import { createMetrics } from '../../http/metrics.js'
import { createStartingRoutes } from '../../http/pages/starting.js'
import { createRateLimiter } from '../../http/rate-limit.js'
import type { HttpServer } from '../../http/server/server.js'
import { contextMaker } from '../call-context.js'
import { callDeps } from '../calls.js'
import { createRefusalSampler } from '../health/refusals.js'
import { watchMaps } from '../maps/watch-maps.js'
import type { Opened, ServicesOptions } from '../options.js'
import { reload, renewTlsOnChange } from '../reload.js'
import { createHubApis, type HubContext } from './apis.js'
import { createHubFamilies } from './health/metrics.js'
import { createHubRoutes } from './routes.js'
import { type HubServices, openHubServices } from './services.js'

/** Share of the drain time after which running calls are cancelled. */
const CANCEL_AT_SHARE = 0.8
/** Time between two attempts to open the hub, ms. */
const RETRY_MS = 2000

/** Error codes of engines that are away, and come back. */
const isAway = (error: unknown) =>
  isAppError(error) &&
  (error.errorName === 'DATABASE_UNAVAILABLE' || error.errorName === 'OBJECTS_UNAVAILABLE')

/**
 * Opens the hub. Where the database or the object store is away, the process serves `/healthz`, answers all else with
 * 503, and goes on trying: a hub restarts by itself after its engines.
 *
 * @throws Error in one line: the hub is not prepared, or its parts do not belong together
 */
export async function openHub(options: ServicesOptions, server: HttpServer): Promise<Opened> {
  const stopping = new AbortController()
  const away = awayRoutes()
  let open: Opened | undefined
  try {
    open = serveHub(options, await openHubServices(options), server)
  } catch (error) {
    if (!isAway(error)) throw error
    options.log.warn(
      { err: error },
      'the hub cannot be opened yet: it answers 503 until its engines are back',
    )
  }
  const trying = open === undefined ? keepTrying() : Promise.resolve()

  async function keepTrying(): Promise<void> {
    const { signal } = stopping
    let last = ''
    while (open === undefined && !signal.aborted) {
      // an abort ends the wait, and is no fault
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      try {
        open = serveHub(options, await openHubServices(options), server)
        options.log.info('the hub is open')
      } catch (error) {
        const text = String(error)
        if (text !== last) options.log.error({ err: error }, 'the hub cannot be opened; it is tried again')
        last = text
      }
    }
  }
  return {
    fetch: (request, env) => (open?.fetch ?? away)(request, env),
    get routes() {
      return open?.routes ?? []
    },
    reload: async (next) => (await open?.reload(next)) ?? [],
    // that it is asked shows that the event loop runs; before the hub is open there are no threads
    isAlive: async (limitMs) => (await open?.isAlive(limitMs)) ?? true,
    async stop() {
      stopping.abort()
      await trying
      if (open === undefined) await server.stop(0)
      else await open.stop()
    },
  }
}

/** Routes of a process whose engines are away. */
function awayRoutes(): Opened['fetch'] {
  const part: PartState = {
    part: 'start',
    isReady: false,
    reason: 'the database or the object store cannot be reached; the log has the reason',
  }
  return createStartingRoutes(part, 'The hub waits for its database or its object store').fetch
}

/** Puts the routes before the services. */
function serveHub(options: ServicesOptions, services: HubServices, server: HttpServer): Opened {
  const { config, log, version, layout } = options
  const { searcher, maps } = services.search
  const stopping = new AbortController()
  const draining = new AbortController()
  const families = createHubFamilies(services, config, {
    connections: server.connections,
    memory: () => calls.budget.facts(),
  })
  const metrics = createMetrics(families.read)
  const refusals = createRefusalSampler(log, config.log.refusalsPerMinute)
  const apis = createHubApis(config)
  const calls = callDeps<HubContext>({
    ...{ config, log, version, metrics, refusals, apis },
    ...{ stopSignal: stopping.signal, drainSignal: draining.signal },
    stores: services.stores,
    discoverFacts: services.models.discoverFacts,
    limiter: createRateLimiter(config.limits, {
      shared: services.allowances,
      onFault: (error) => log.debug({ err: error }, 'allowances were not exchanged with other processes'),
    }),
    contextOf: contextMaker(services.shared),
  })
  const routed = {
    config,
    log,
    version,
    apis,
    services,
    calls,
    metrics,
    refusals,
    isDraining: () => draining.signal.aborted,
  }
  const app = createHubRoutes(routed)
  const watches = [renewTlsOnChange(config, server, log), watchMaps({ config, layout, maps, log })]
  let stopped: Promise<void> | undefined
  return {
    fetch: app.fetch,
    routes: app.routes.map(({ method, path }) => ({ verb: method, path })),
    reload: (next) => reload(config, next, { server, maps }),
    isAlive: (limitMs) => searcher.isAlive(limitMs),
    stop: () => (stopped ??= stop()),
  }

  async function stop(): Promise<void> {
    draining.abort()
    for (const endWatch of watches) endWatch()
    const cancelling = setTimeout(() => stopping.abort(), config.server.drainMs * CANCEL_AT_SHARE)
    await server.stop(config.server.drainMs)
    clearTimeout(cancelling)
    stopping.abort()
    families.stop()
    calls.limiter.stop()
    refusals.stop()
    await services.close()
  }
}
