import type { Config } from '../config.js'
import { openDataprocBackend } from '../dataproc/backend.js'
import { type DataLayout, emptyTempDir, layoutOf, makeDirectories } from '../files/layout.js'
import { createMetrics, type Metrics } from '../http/metrics.js'
import { addMetricsRoute, METRICS_PATH } from '../http/metrics-route.js'
import { addProxyRoutes } from '../http/proxy-routes.js'
import { createRateLimiter } from '../http/rate-limit.js'
import { createRoutes } from '../http/routes.js'
import type { RpcDeps } from '../http/rpc-routes.js'
import { createHttpServer, type HttpServer } from '../http/server/server.js'
import { readTls, watchTls } from '../http/server/tls-pair.js'
import { createStartingRoutes } from '../http/starting.js'
import type { Log } from '../log.js'
import type { Api } from '../rpc/dispatch.js'
import {
  createApis,
  DATAPROC_PATH,
  describeApis,
  type GatewayContext,
  LOADER_PATH,
  MODEL_STORE_PATH,
  mapApiPath,
} from './apis.js'
import { auditHooks } from './audit.js'
import { addConsolePage } from './console-page.js'
import { addMapTiles } from './map-tiles.js'
import { createFamilyReader } from './metric-families.js'
import { openServices, type Services } from './services.js'
import { addStandardRoutes } from './standard-routes.js'
import { createVitals } from './vitals.js'

/** Running calls are told to end when this share of the drain time is over. */
const LAST_CALL_SHARE = 0.8

export interface GatewayOptions {
  config: Config
  dataDir: string
  log: Log
  /** file that worker threads run: this program itself */
  workerEntry: string
  version: string
  /** the settings file, for backups */
  configFile?: string | null
}

/** A verb and a pattern of paths. */
export interface ServedRoute {
  readonly verb: string
  readonly path: string
}

export interface Gateway {
  url: string
  port: number
  /** every path that is served, as the router has it: `ALL` stands for every verb */
  routes: readonly ServedRoute[]
  /** takes over the settings that can change while serving; returns the paths of those that cannot */
  reload(next: Config): Promise<string[]>
  /** true when the worker threads answer within `limitMs`, or have a good reason not to */
  isAlive(limitMs: number): Promise<boolean>
  /** answers new calls with 503, lets running ones end, closes everything */
  stop(): Promise<void>
}

type Fetch = Parameters<typeof createHttpServer>[0]

/**
 * Listens, and opens everything: until that is done, calls are told that the gateway is starting. The caller holds the
 * data directory's lock.
 *
 * @throws Error in one line that says what is in the way: the port is taken, a database is newer, a certificate
 *   cannot be read
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, dataDir } = options
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  emptyTempDir(layout)
  let answer = createStartingRoutes().fetch as Fetch
  const server = createHttpServer(
    (request, env) => answer(request, env),
    config.limits,
    readTls(config.server),
  )
  const { port } = await server.listen(config.server.host, config.server.port)
  try {
    const services = await openServices({ ...options, layout })
    const serving = serve({ ...options, layout }, services, server)
    answer = serving.fetch
    return { ...serving.gateway, url: urlOf(config, port), port }
  } catch (error) {
    await server.stop(0)
    throw error
  }
}

function serve(
  { config, log, version, layout }: GatewayOptions & { layout: DataLayout },
  services: Services,
  server: HttpServer,
): { fetch: Fetch; gateway: Omit<Gateway, 'url' | 'port'> } {
  const stopping = new AbortController()
  const state = { isDraining: false }
  const apis = createApis(config)
  const families = createFamilyReader(services, layout, config, server.connections)
  const metrics = createMetrics(families.read)
  const rpc = rpcDeps(config, log, services, stopping.signal, version, metrics)
  const { backend } = config.dataproc
  const dataproc = backend === 'embedded' ? undefined : openDataprocBackend(backend, config, version)
  const routes = createRoutes<GatewayContext>({
    ...rpc,
    apis,
    log,
    bodyAnswerers: new Map([[LOADER_PATH, services.loading.answerBody]]),
    openRpc: () => describeApis(apis, version),
    readiness: services.readiness,
    isDraining: () => state.isDraining,
    addRoutes(app) {
      services.models.addRoutes(app, apiAt(apis, MODEL_STORE_PATH), rpc)
      services.loading.addRoutes(app, apiAt(apis, LOADER_PATH), rpc)
      addMetricsRoute(app, rpc, metrics, config.server.openTo.includes(METRICS_PATH))
      addMapTiles(app, apiAt(apis, mapApiPath(config)), rpc, services)
      addConsolePage(app, config, version)
      addStandardRoutes(app, { config, services, apis, rpc, version })
      if (dataproc !== undefined) addProxyRoutes(app, { rpc, send: dataproc.send, ...proxySettings(config) })
    },
  })
  const unwatchTls = watchTls(config.server, () => renewTls(config, server, log))
  const gateway: Omit<Gateway, 'url' | 'port'> = {
    routes: routes.routes.map(({ method, path }) => ({ verb: method, path })),
    reload: (next) => reload(config, next, server, services),
    isAlive: createVitals(services.searcher, services.jobs),
    async stop() {
      state.isDraining = true
      unwatchTls()
      const lastCall = setTimeout(() => stopping.abort(), config.server.drainMs * LAST_CALL_SHARE)
      await server.stop(config.server.drainMs)
      clearTimeout(lastCall)
      stopping.abort()
      families.stop()
      await dataproc?.close()
      await services.close()
    },
  }
  return { fetch: routes.fetch as Fetch, gateway }
}

/** A pair that does not fit yet is told of: the other file may be on its way. The old one serves on. */
function renewTls(config: Config, server: HttpServer, log: Log): void {
  try {
    const pair = readTls(config.server)
    if (pair === null) return
    server.setTls(pair)
    log.info('the TLS certificate is renewed')
  } catch (error) {
    log.warn({ err: error }, 'the TLS files changed and cannot be used; the old certificate stays')
  }
}

/** Requests are not read, so every one needs the scope of the mightiest. */
function proxySettings({ service, limits, dataproc }: Config) {
  return {
    path: DATAPROC_PATH,
    scope: 'dataproc:write' as const,
    headerPrefix: service.headerPrefix,
    bodyLimits: { maxBytes: dataproc.requestBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
  }
}

function rpcDeps(
  config: Config,
  log: Log,
  services: Services,
  stopSignal: AbortSignal,
  version: string,
  meter: Metrics,
): RpcDeps<GatewayContext> {
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
      // not copied: looking at it makes the hang-up signal, and most calls never do
      get signal() {
        return call.signal
      },
    }),
    discover: (api) => ({
      ...describeApis([api], version),
      ...services.models.discoverFacts(api.path),
    }),
    meter,
    onFault: (requestId, method, error) => log.error({ requestId, method, err: error }, 'a call failed'),
    onHangUp: (requestId, method) =>
      log.debug({ requestId, method }, 'the caller hung up; the result is not read any further'),
    ...auditHooks(log),
  }
}

/** What is taken over: certificates and map files. The rest of the settings are read once. */
async function reload(
  current: Config,
  next: Config,
  server: HttpServer,
  services: Services,
): Promise<string[]> {
  await services.reloadMaps()
  const tls = readTls(next.server)
  if (tls !== null && current.server.tlsCertFile !== undefined) server.setTls(tls)
  return changedPaths(current, next).filter((path) => !path.startsWith('server.tls'))
}

function changedPaths(a: object, b: object, prefix = ''): string[] {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) => {
    const [x, y] = [left[key], right[key]]
    const isSection =
      typeof x === 'object' && x !== null && typeof y === 'object' && y !== null && !Array.isArray(x)
    if (isSection) return changedPaths(x as object, y as object, `${prefix}${key}.`)
    return JSON.stringify(x) === JSON.stringify(y) ? [] : [`${prefix}${key}`]
  })
}

function apiAt<C>(apis: readonly Api<C>[], path: string): Api<C> {
  const found = apis.find((api) => api.path === path)
  if (found === undefined) throw new Error(`no API is served at ${path}`)
  return found
}

function urlOf({ server }: Config, port: number): string {
  const host = server.host.includes(':') ? `[${server.host}]` : server.host
  return `${server.tlsCertFile === undefined ? 'http' : 'https'}://${host}:${port}`
}
