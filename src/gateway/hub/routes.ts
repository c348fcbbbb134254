import type { Hono } from 'hono'
import { readAsset } from '../../assets.js'
import type { Config } from '../../config/config.js'
import { MAX_BATCH_BYTES } from '../../feeds/batch/format.js'
import { textBytesOf } from '../../feeds/batch/frame-size.js'
import { createApp } from '../../http/app.js'
import type { CallDeps } from '../../http/calls.js'
import { createClientAddress } from '../../http/client-address.js'
import type { HttpEnv } from '../../http/env.js'
import { addHealthRoutes } from '../../http/health-routes.js'
import type { LineSampler } from '../../http/line-sampler.js'
import type { Metrics } from '../../http/metrics.js'
import { addDownloadRoute } from '../../http/model-files/download.js'
import { addSignatureRoute } from '../../http/model-files/signature.js'
import { addTusRoutes } from '../../http/model-files/tus.js'
import { addUploadRoute } from '../../http/model-files/upload.js'
import { addConsoleRoutes } from '../../http/pages/console-routes.js'
import { addDocumentRoute } from '../../http/pages/document-route.js'
import { addMetricsRoute, METRICS_PATH } from '../../http/pages/metrics-route.js'
import { addAlertRoutes } from '../../http/routes/alert-routes.js'
import { addChangeRoutes } from '../../http/routes/change-routes.js'
import { EXPORT_ROUTES } from '../../http/routes/export-routes.js'
import { addFeedRoutes } from '../../http/routes/feed-routes.js'
import { addFleetFileRoute } from '../../http/routes/fleet-files.js'
import { addStreamRoute } from '../../http/routes/loader-routes.js'
import { addOgcRoutes } from '../../http/routes/ogc-routes.js'
import { addRefusedRoutes, type RefusedRoute } from '../../http/routes/refused-routes.js'
import { addRpcRoutes } from '../../http/routes/rpc-routes.js'
import type { Log } from '../../log.js'
import { refuseOgc } from '../../ogc/answer.js'
import type { Api } from '../../rpc/dispatch.js'
import { describeApis, MODEL_STORE_PATH } from '../apis.js'
import { addMapTiles } from '../maps/map-tiles.js'
import { describeHttp } from '../openapi.js'
import { consoleFacts } from '../routes.js'
import { ogcByReaders } from '../rows/ogc.js'
import { type HubContext, notOnHub } from './apis.js'
import type { HubServices } from './services.js'

interface HubRoutesOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly apis: readonly Api<HubContext>[]
  readonly services: HubServices
  readonly calls: CallDeps<HubContext>
  readonly metrics: Metrics
  readonly refusals: LineSampler<'strangers' | 'callers'>
  isDraining(): boolean
}

/** Paths of a gateway, beside its methods, that a hub does not serve. */
export const REFUSED_ROUTES: readonly RefusedRoute[] = EXPORT_ROUTES.map(([path, scope]) => ({ path, scope }))

/** Makes every route of a hub; this is the list of them. */
export function createHubRoutes(options: HubRoutesOptions): Hono<HttpEnv> {
  const { config, version, apis, services, calls, metrics, isDraining } = options
  const { publicUrl, tlsCertFile, trustedProxies, openTo } = config.server
  const app = createApp({
    ...{ log: options.log, refusals: options.refusals, meter: metrics, isDraining, onFault: calls.onFault },
    clientAddress: createClientAddress(trustedProxies),
    limiter: calls.limiter,
    tokenHeader: calls.tokenHeader,
    publicOrigin: publicUrl === undefined ? undefined : new URL(publicUrl).origin,
    hasTls: tlsCertFile !== undefined,
  })

  // without a key
  addHealthRoutes(app, { readiness: services.readiness, isDraining })
  addDocumentRoute(app, '/openrpc.json', () => describeApis(apis, version))
  addDocumentRoute(app, '/openapi.json', () => describeHttp(config, apis, version))
  addConsoleRoutes(app, {
    facts: () => consoleFacts(config, version, apis),
    readFile: (name) => readAsset(`console/${name}`),
  })

  for (const api of apis) addRpcRoutes(app, api, calls)
  addAlertRoutes(app)
  addUploadRoute(app, MODEL_STORE_PATH, calls, services.models.uploads)
  addTusRoutes(app, calls, services.models.resumableUploads)
  addDownloadRoute(app, calls, services.models.findFile)
  addSignatureRoute(app, calls, services.models.findSignature)
  addFleetFileRoute(app, calls, services.findFleetFile)
  const { bodyIdleMs, bodyMs } = config.limits
  addFeedRoutes(app, {
    ...{ calls, maxBytes: MAX_BATCH_BYTES, textBytesOf },
    limits: { idleMs: bodyIdleMs, totalMs: bodyMs },
    take: services.feeds.receiver.take,
    takeCitation: services.feeds.citations.take,
    give: services.feeds.giver.next,
  })
  addStreamRoute(app, { calls, bodyIdleMs, receiveStream: services.loading.addStream })
  addChangeRoutes(app, { calls, open: services.loading.live.open })
  const answer = ogcByReaders(services.loading.readers)
  addOgcRoutes(app, { calls, isOpen: openTo.includes('/ogc/'), publicUrl, answer, refuse: refuseOgc })
  addMapTiles(app, calls, services.search.searcher, config.routing)
  addRefusedRoutes(app, calls, REFUSED_ROUTES, notOnHub)
  addMetricsRoute(app, calls, metrics, openTo.includes(METRICS_PATH))
  return app
}
