import type { Config } from '../config/config.js'
import { emptyTempDir, layoutOf, makeDirectories } from '../files/layout.js'
import { createMetrics, type Metrics } from '../http/metrics.js'
import { createStartingRoutes } from '../http/pages/starting.js'
import { createRateLimiter } from '../http/rate-limit.js'
import { createHttpServer, type HttpServer } from '../http/server/server.js'
import { readTls } from '../http/server/tls-pair.js'
import type { Log } from '../log.js'
import { createApis, type GatewayContext } from './apis.js'
import { openBackend } from './automation/dataproc.js'
import { contextMaker } from './call-context.js'
import { callDeps } from './calls.js'
import { watchDiskFaults } from './health/disk-faults.js'
import { createRefusalSampler } from './health/refusals.js'
import { createVitals } from './health/vitals.js'
import { watchMaps } from './maps/watch-maps.js'
import { type FigureHistory, startHistory } from './metrics/history.js'
import { createFamilyReader } from './metrics/reader.js'
import type { Gateway, GatewayOptions, Opened, ServicesOptions } from './options.js'
import { reload, renewTlsOnChange } from './reload.js'
import { createRoutes } from './routes.js'
import { openServices, type Services } from './services.js'
import { createSignInLinks } from './sign-in-links.js'

/** Share of the drain time after which running calls are cancelled. */
const CANCEL_AT_SHARE = 0.8

/**
 * Listens, then opens the services; until they are open, calls are refused with 503. The caller holds the
 * lock of the data directory.
 *
 * @throws Error in one line: the port is taken, a database is newer than this program, a certificate cannot
 *   be read
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, dataDir } = options
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  makeDirectories(layout)
  emptyTempDir(layout)
  let answer: Opened['fetch'] = createStartingRoutes().fetch
  const server = createHttpServer((request, env) => answer(request, env), config, readTls(config.server))
  const { port } = await server.listen(config.server.host, config.server.port)
  try {
    const diskFaults = watchDiskFaults(options.log, layout.damageNote)
    const serviceOptions = { ...options, layout, log: diskFaults.log, diskFaults }
    const opened = await open(serviceOptions, server)
    answer = opened.fetch
    return Object.assign(opened, { url: urlOf(config, port), port })
  } catch (error) {
    await server.stop(0)
    throw error
  }
}

/** Opens what the role of the settings says. The code of a hub is loaded by a hub alone. */
async function open(options: ServicesOptions, server: HttpServer): Promise<Opened> {
  if (options.config.role === 'gateway') return serve(options, await openServices(options), server)
  const { openHub } = await import('./hub/app.js')
  return await openHub(options, server)
}

/** Puts the routes before the services. */
function serve(options: ServicesOptions, services: Services, server: HttpServer): Opened {
  const { config, log, version, layout } = options
  const stopping = new AbortController()
  const draining = new AbortController()
  const families = createFamilyReader(services, layout, config, {
    connections: server.connections,
    memory: () => calls.budget.facts(),
  })
  const metrics = createMetrics(families.read)
  const backend = openBackend(config, version)
  const refusals = createRefusalSampler(log, config.log.refusalsPerMinute)
  const stopSignal = stopping.signal
  const calls = callDeps<GatewayContext>({
    ...{ config, log, version, metrics, refusals, stopSignal, drainSignal: draining.signal },
    stores: services.stores,
    apis: createApis(config),
    discoverFacts: services.models.discoverFacts,
    limiter: createRateLimiter(config.limits),
    contextOf: contextMaker(services.shared),
  })
  const history = historyOf(metrics, log)
  const signInLinks = createSignInLinks({ ...services.shared, config, log })
  const app = createRoutes({
    ...{ config, log, version, services, calls, metrics, refusals, backend, signInLinks, history },
    isDraining: () => draining.signal.aborted,
  })
  const watches = [
    renewTlsOnChange(config, server, log),
    watchMaps({ config, layout, maps: services.maps, log }),
  ]
  let stopped: Promise<void> | undefined
  return {
    fetch: app.fetch,
    routes: app.routes.map(({ method, path }) => ({ verb: method, path })),
    reload: (next) => reload(config, next, { server, maps: services.maps }),
    isAlive: createVitals(services.threads),
    offerSignIn: signInLinks.offer,
    stop: () => (stopped ??= stop()),
  }

  async function stop(): Promise<void> {
    draining.abort()
    history.stop()
    for (const endWatch of watches) endWatch()
    const cancelling = setTimeout(() => stopping.abort(), config.server.drainMs * CANCEL_AT_SHARE)
    await server.stop(config.server.drainMs)
    clearTimeout(cancelling)
    stopping.abort()
    families.stop()
    calls.limiter.stop()
    refusals.stop()
    await backend?.close()
    await services.close()
  }
}

function historyOf({ page }: Pick<Metrics, 'page'>, log: Log): FigureHistory {
  return startHistory(page, (err) => log.warn({ err }, 'figures could not be sampled'))
}

function urlOf({ server }: Config, port: number): string {
  const host = server.host.includes(':') ? `[${server.host}]` : server.host
  return `${server.tlsCertFile === undefined ? 'http' : 'https'}://${host}:${port}`
}
