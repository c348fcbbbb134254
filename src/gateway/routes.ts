import type { Hono } from 'hono'
import { readAsset } from '../assets.js'
import type { Config } from '../config/config.js'
import type { ConsoleFacts } from '../console/core/facts.js'
import type { DataprocBackend } from '../dataproc/backend.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import { textBytesOf } from '../feeds/batch/frame-size.js'
import { createApp } from '../http/app.js'
import type { CallDeps } from '../http/calls.js'
import { createClientAddress } from '../http/client-address.js'
import type { HttpEnv } from '../http/env.js'
import { addHealthRoutes } from '../http/health-routes.js'
import type { LineSampler } from '../http/line-sampler.js'
import type { Metrics } from '../http/metrics.js'
import { addDownloadRoute } from '../http/model-files/download.js'
import { addSignatureRoute } from '../http/model-files/signature.js'
import { addTusRoutes } from '../http/model-files/tus.js'
import { addUploadRoute } from '../http/model-files/upload.js'
import { addConsoleRoutes } from '../http/pages/console-routes.js'
import { addDocumentRoute } from '../http/pages/document-route.js'
import { addHistoryRoute, addMetricsRoute, METRICS_PATH } from '../http/pages/metrics-route.js'
import { addAlertRoutes } from '../http/routes/alert-routes.js'
import { addChangeRoutes } from '../http/routes/change-routes.js'
import { addExportRoutes } from '../http/routes/export-routes.js'
import { addFeedRoutes } from '../http/routes/feed-routes.js'
import { addFleetFileRoute } from '../http/routes/fleet-files.js'
import { addStreamRoute } from '../http/routes/loader-routes.js'
import { addOgcRoutes } from '../http/routes/ogc-routes.js'
import { addProxyRoutes } from '../http/routes/proxy-routes.js'
import { addRpcRoutes } from '../http/routes/rpc-routes.js'
import { addSignInRoute } from '../http/routes/sign-in-route.js'
import type { Log } from '../log.js'
import { refuseOgc } from '../ogc/answer.js'
import type { Api } from '../rpc/dispatch.js'
import {
  createApis,
  DATAPROC_PATH,
  describeApis,
  type GatewayContext,
  LOADER_PATH,
  MODEL_STORE_PATH,
} from './apis.js'
import { addMapTiles } from './maps/map-tiles.js'
import type { FigureHistory } from './metrics/history.js'
import { describeHttp } from './openapi.js'
import { exportsByReaders } from './rows/exports.js'
import { ogcByReaders } from './rows/ogc.js'
import type { Services } from './services.js'
import type { SignInLinks } from './sign-in-links.js'

interface RoutesOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  readonly services: Services
  readonly calls: CallDeps<GatewayContext>
  readonly metrics: Metrics
  /** decides which refusals are logged */
  readonly refusals: LineSampler<'strangers' | 'callers'>
  /** absent when modules run on this device */
  readonly backend: DataprocBackend | undefined
  readonly signInLinks: SignInLinks
  readonly history: FigureHistory
  isDraining(): boolean
}

/** Makes every route of the gateway; this is the list of them. */
export function createRoutes(options: RoutesOptions): Hono<HttpEnv> {
  const { config, log, version, services, calls, metrics, refusals, backend, isDraining } = options
  const { readiness, models, feeds, loading, findFleetFile } = services
  const apis = createApis(config)
  const { publicUrl, tlsCertFile, trustedProxies } = config.server
  const app = createApp({
    ...{ log, refusals, meter: metrics, isDraining, onFault: calls.onFault },
    clientAddress: createClientAddress(trustedProxies),
    limiter: calls.limiter,
    tokenHeader: calls.tokenHeader,
    publicOrigin: publicUrl === undefined ? undefined : new URL(publicUrl).origin,
    hasTls: tlsCertFile !== undefined,
  })

  // without a key
  addHealthRoutes(app, { readiness, isDraining })
  addDocumentRoute(app, '/openrpc.json', () => describeApis(apis, version))
  addDocumentRoute(app, '/openapi.json', () => describeHttp(config, apis, version))
  addSignInRoute(app, { calls, open: options.signInLinks.open }) // before the files of the console
  addConsoleRoutes(app, {
    facts: () => consoleFacts(config, version, apis),
    readFile: (name) => readAsset(`console/${name}`),
  })

  // JSON-RPC, and its REST form
  for (const api of apis) {
    const answerer = api.path === LOADER_PATH ? loading.answerBody : undefined
    addRpcRoutes(app, api, calls, answerer)
  }
  if (backend !== undefined) addBackendRoutes(app, calls, backend, config)
  addAlertRoutes(app)

  // bodies that are not JSON-RPC
  addUploadRoute(app, MODEL_STORE_PATH, calls, models.uploads)
  addTusRoutes(app, calls, models.resumableUploads)
  addDownloadRoute(app, calls, models.findFile)
  addSignatureRoute(app, calls, models.findSignature)
  addFleetFileRoute(app, calls, findFleetFile)
  addFeedRoutes(app, {
    calls,
    limits: { idleMs: config.limits.bodyIdleMs, totalMs: config.limits.bodyMs },
    maxBytes: MAX_BATCH_BYTES,
    textBytesOf,
    take: feeds.receiver.take,
    takeCitation: feeds.citations.take,
    give: feeds.giver.next,
  })
  addStreamRoute(app, { calls, bodyIdleMs: config.limits.bodyIdleMs, receiveStream: loading.addStream })
  addChangeRoutes(app, { calls, open: services.live.open })
  addExportRoutes(app, { calls, open: exportsByReaders(services.shared.readers) })
  addMapTiles(app, calls, services.threads.searcher, config.routing)
  addFeatureRoutes(app, calls, services, options)
  addMetricsRoute(app, calls, metrics, config.server.openTo.includes(METRICS_PATH))
  addHistoryRoute(app, calls, options.history, config.server.openTo.includes(METRICS_PATH))
  return app
}

/** Adds OGC API – Features over tables, datasets and citations. */
function addFeatureRoutes(
  app: Hono<HttpEnv>,
  calls: CallDeps<GatewayContext>,
  { shared }: Services,
  { config }: Pick<RoutesOptions, 'config'>,
): void {
  const { openTo, publicUrl } = config.server
  const answer = ogcByReaders(shared.readers)
  addOgcRoutes(app, { calls, isOpen: openTo.includes('/ogc/'), publicUrl, answer, refuse: refuseOgc })
}

/**
 * Forwards the dataproc API to its backend. Its requests are not read here, so each needs the widest scope.
 */
function addBackendRoutes(
  app: Hono<HttpEnv>,
  calls: CallDeps<GatewayContext>,
  backend: DataprocBackend,
  { service, limits, dataproc }: Config,
): void {
  addProxyRoutes(app, {
    calls,
    path: DATAPROC_PATH,
    scope: 'dataproc:write',
    headerPrefix: service.headerPrefix,
    bodyLimits: { maxBytes: dataproc.requestBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
    send: backend.send,
  })
}

/** Facts that the console needs before its first call. */
export async function consoleFacts<C>(
  { service, riskmap, routing }: Config,
  version: string,
  apis: readonly Api<C>[],
): Promise<ConsoleFacts> {
  const names = async ({ path, methods }: Api<C>) => [path, [...(await methods()).keys()]]
  return {
    version,
    tokenHeader: `${service.headerPrefix}-Session-Token`,
    routeKey: service.routeKey,
    timeZone: service.timeZone,
    levelColumn: riskmap.levelColumn,
    themes: riskmap.themes,
    maxVia: routing.maxVia,
    maxAlternatives: routing.maxAlternatives,
    methods: Object.fromEntries(await Promise.all(apis.map(names))),
  }
}
