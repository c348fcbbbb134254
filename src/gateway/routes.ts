import type { Hono } from 'hono'
import type { Config } from '../config.js'
import type { DataprocBackend } from '../dataproc/backend.js'
import type { HttpEnv } from '../http/env.js'
import type { Metrics } from '../http/metrics.js'
import { addMetricsRoute, METRICS_PATH } from '../http/metrics-route.js'
import { addProxyRoutes } from '../http/proxy-routes.js'
import { createRoutes } from '../http/routes.js'
import type { RpcDeps } from '../http/rpc-routes.js'
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
import { addConsolePage } from './console-page.js'
import { addMapTiles } from './map-tiles.js'
import type { Services } from './services.js'
import { addStandardRoutes } from './standard-routes.js'

export interface GatewayRoutesOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly services: Services
  readonly rpc: RpcDeps<GatewayContext>
  readonly metrics: Metrics
  /** absent when modules run on this device */
  readonly backend: DataprocBackend | undefined
  isDraining(): boolean
}

/** Lists every route of the gateway. */
export function createGatewayRoutes(options: GatewayRoutesOptions): Hono<HttpEnv> {
  const { config, log, version, services, rpc, metrics, backend, isDraining } = options
  const apis = createApis(config)
  return createRoutes<GatewayContext>({
    ...rpc,
    apis,
    log,
    bodyAnswerers: new Map([[LOADER_PATH, services.loading.answerBody]]),
    openRpc: () => describeApis(apis, version),
    readiness: services.readiness,
    isDraining,
    addRoutes(app) {
      services.models.addRoutes(app, apiAt(apis, MODEL_STORE_PATH), rpc)
      services.loading.addRoutes(app, apiAt(apis, LOADER_PATH), rpc)
      addMetricsRoute(app, rpc, metrics, config.server.openTo.includes(METRICS_PATH))
      addMapTiles(app, apiAt(apis, mapApiPath(config)), rpc, services)
      addConsolePage(app, config, version)
      addStandardRoutes(app, { config, services, apis, rpc, version })
      if (backend !== undefined) addBackendRoutes(app, rpc, backend, config)
    },
  })
}

/** The backend's requests are not read here, so each needs the widest scope of the API. */
function addBackendRoutes(
  app: Hono<HttpEnv>,
  rpc: RpcDeps<GatewayContext>,
  backend: DataprocBackend,
  { service, limits, dataproc }: Config,
): void {
  addProxyRoutes(app, {
    rpc,
    path: DATAPROC_PATH,
    scope: 'dataproc:write',
    headerPrefix: service.headerPrefix,
    bodyLimits: { maxBytes: dataproc.requestBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
    send: backend.send,
  })
}

function apiAt<C>(apis: readonly Api<C>[], path: string): Api<C> {
  const found = apis.find((api) => api.path === path)
  if (found === undefined) throw new Error(`no API is served at ${path}`)
  return found
}
