import type { BaseContext } from '../api/context.js'
import { type DataLoaderContext, GET_FILE_METHODS, LOADER_METHODS } from '../api/dataloader/index.js'
import { DATAPROC_METHODS, type DataprocContext } from '../api/dataproc/index.js'
import { DATASET_METHODS, type DatasetContext } from '../api/dataset/index.js'
import { FL_METHODS, type FlContext } from '../api/fl/index.js'
import { FLEET_METHODS, type FleetContext } from '../api/fleet/index.js'
import { MAP_METHODS, type MapContext } from '../api/map/index.js'
import { MODEL_STORE_METHODS, type ModelStoreContext, UPLOAD_METHODS } from '../api/model-store/index.js'
import { ROUTING_METHODS, type RoutingContext } from '../api/routing/index.js'
import { SESSION_METHODS, type SessionContext } from '../api/session/index.js'
import { SYNC_METHODS, type SyncContext } from '../api/sync/index.js'
import type { Config } from '../config/config.js'
import type { Method, MethodFacts } from '../rpc/define-method.js'
import type { Api } from '../rpc/dispatch.js'
import { openRpcDocument } from '../rpc/openrpc.js'

/** Path of the dataproc API. Its requests are forwarded when another backend is configured. */
export const DATAPROC_PATH = '/api/v1/dataproc/jsonrpc'
/** Path of the loader API. Its bodies may be large; the paths of its streams are siblings. */
export const LOADER_PATH = '/api/v1/dataloaderapi/jsonrpc'
/** Path of the model store API. The paths of its uploads begin with it. */
export const MODEL_STORE_PATH = '/api/v2/model_store/jsonrpc'

/** Paths of the other APIs. */
export const API_PATHS = {
  session: '/api/v1/session/jsonrpc',
  getFile: '/api/v1/getfileapi/jsonrpc',
  dataset: '/api/v2/dataset/jsonrpc',
  fl: '/api/v2/fl/jsonrpc',
  sync: '/api/v2/sync/jsonrpc',
  fleet: '/api/v2/fleet/jsonrpc',
} as const

/** Path of the map API. The path of its vector tiles is a sibling. */
export function mapApiPath({ service }: Pick<Config, 'service'>): string {
  return `/api/v1/${service.apiName}api/jsonrpc`
}

/** The context of every method: what each room asks for, together. */
export type GatewayContext = BaseContext &
  SessionContext &
  DataprocContext &
  DataLoaderContext &
  MapContext &
  RoutingContext &
  DatasetContext &
  FlContext &
  SyncContext &
  FleetContext &
  ModelStoreContext

/**
 * Every API that is answered here, with its path and methods. A room is added here and its part of the
 * context in `app.ts`.
 */
export function createApis(config: Config): Api<GatewayContext>[] {
  return [
    apiOf<GatewayContext>(API_PATHS.session, 'Sessions', SESSION_METHODS),
    ...(config.dataproc.backend === 'embedded'
      ? [apiOf<GatewayContext>(DATAPROC_PATH, 'Data processing', DATAPROC_METHODS)]
      : []),
    apiOf<GatewayContext>(LOADER_PATH, 'Data loader', LOADER_METHODS),
    apiOf<GatewayContext>(API_PATHS.getFile, 'Stored files', GET_FILE_METHODS),
    apiOf<GatewayContext>(
      mapApiPath(config),
      'Event data, risk maps and routes',
      MAP_METHODS,
      ROUTING_METHODS,
    ),
    apiOf<GatewayContext>(API_PATHS.dataset, 'Datasets and citations', DATASET_METHODS),
    apiOf<GatewayContext>(API_PATHS.fl, 'Federated learning', FL_METHODS),
    apiOf<GatewayContext>(API_PATHS.sync, 'Feeds of tables', SYNC_METHODS),
    apiOf<GatewayContext>(API_PATHS.fleet, 'Fleet', FLEET_METHODS),
    apiOf<GatewayContext>(MODEL_STORE_PATH, 'Model store', MODEL_STORE_METHODS),
  ]
}

/** Returns a function that finds the path of a method, or of an upload of that name. */
export function pathFinder<C>(apis: readonly Api<C>[]): (method: string) => string | undefined {
  const paths = new Map(apis.flatMap(({ path, methods }) => [...methods.keys()].map((name) => [name, path])))
  for (const { name } of UPLOAD_METHODS) paths.set(name, `${MODEL_STORE_PATH}/upload/${name}`)
  return (method) => paths.get(method)
}

/** Methods of several rooms that share a path. @throws Error when two have one name */
export function apiOf<C>(path: string, title: string, ...rooms: readonly (readonly Method<C>[])[]): Api<C> {
  const methods = new Map<string, Method<C>>()
  for (const method of rooms.flat()) {
    if (methods.has(method.name)) throw new Error(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return { path, title, methods }
}

/** The OpenRPC document of one path, or of all of them. */
export function describeApis<C>(apis: readonly Api<C>[], version: string): object {
  const methods = apis.flatMap((api) => methodsOf(api))
  const [only] = apis
  return openRpcDocument(
    {
      title: apis.length === 1 && only !== undefined ? only.title : 'Fieldgate',
      version,
      ...(apis.length === 1 && only !== undefined ? { path: only.path } : {}),
    },
    methods,
  )
}

/** Facts of the methods at a path. */
export function methodsOf<C>(api: Api<C>): (MethodFacts & { path: string })[] {
  return [...api.methods.values()].map((method) => ({ ...method, path: api.path }))
}
