import type { Hono } from 'hono'
import type { Config } from '../config.js'
import { addDocumentRoute } from '../http/document-route.js'
import type { HttpEnv } from '../http/env.js'
import { addOgcRoutes } from '../http/ogc-routes.js'
import type { RpcDeps } from '../http/rpc-routes.js'
import { createOgcService } from '../ogc/answer.js'
import type { Api } from '../rpc/dispatch.js'
import type { GatewayContext } from './apis.js'
import { describeHttp } from './openapi.js'
import type { Services } from './services.js'

interface StandardRouteDeps {
  config: Config
  services: Services
  apis: readonly Api<GatewayContext>[]
  rpc: RpcDeps<GatewayContext>
  version: string
}

/** Adds the routes for tools that know a standard and not this gateway: the OpenAPI document and OGC API – Features. */
export function addStandardRoutes(app: Hono<HttpEnv>, deps: StandardRouteDeps): void {
  const { config, services, apis, rpc, version } = deps
  const ogc = createOgcService({
    sources: services.features,
    version,
    timeZoneMin: services.shared.timeZoneMin,
    maxFeatures: config.limits.ogcFeatures,
    nowUs: () => services.state.clock.nowUs(),
  })
  addDocumentRoute(app, '/openapi.json', () => describeHttp(config, apis, version))
  addOgcRoutes(app, {
    rpc,
    isOpen: config.server.openTo.includes('/ogc/'),
    publicUrl: config.server.publicUrl,
    ...ogc,
  })
}
