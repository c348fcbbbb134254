import type { BaseContext } from '../api/context.js'
import type { DataLoaderContext } from '../api/dataloader/index.js'
import type { DataprocContext } from '../api/dataproc/index.js'
import type { DatasetContext } from '../api/dataset/index.js'
import type { FlContext } from '../api/fl/index.js'
import type { FleetContext } from '../api/fleet/index.js'
import type { MapContext } from '../api/map/index.js'
import type { ModelStoreContext } from '../api/model-store/index.js'
import { isUploadName } from '../api/model-store/upload-names.js'
import type { RoutingContext } from '../api/routing/index.js'
import type { SessionContext } from '../api/session/index.js'
import type { SyncContext } from '../api/sync/index.js'
import type { Config } from '../config/config.js'
import { kept } from '../kept.js'
import type { Method, MethodFacts } from '../rpc/define-method.js'
import type { Api } from '../rpc/dispatch.js'

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
 * context in `app.ts`. Rooms are loaded with their first call: an idle gateway does without their shapes.
 */
export function createApis(config: Config): Api<GatewayContext>[] {
  const api = apiOf<GatewayContext>
  return [
    api(API_PATHS.session, 'Sessions', async () => (await import('../api/session/index.js')).SESSION_METHODS),
    ...(config.dataproc.backend === 'embedded' ? [dataprocApi()] : []),
    api(LOADER_PATH, 'Data loader', async () => (await import('../api/dataloader/index.js')).LOADER_METHODS),
    api(
      API_PATHS.getFile,
      'Stored files',
      async () => (await import('../api/dataloader/index.js')).GET_FILE_METHODS,
    ),
    api(
      mapApiPath(config),
      'Event data, risk maps and routes',
      async () => (await import('../api/map/index.js')).MAP_METHODS,
      async () => (await import('../api/routing/index.js')).ROUTING_METHODS,
    ),
    api(
      API_PATHS.dataset,
      'Datasets and citations',
      async () => (await import('../api/dataset/index.js')).DATASET_METHODS,
    ),
    api(API_PATHS.fl, 'Federated learning', async () => (await import('../api/fl/index.js')).FL_METHODS),
    api(API_PATHS.sync, 'Feeds of tables', async () => (await import('../api/sync/index.js')).SYNC_METHODS),
    api(API_PATHS.fleet, 'Fleet', async () => (await import('../api/fleet/index.js')).FLEET_METHODS),
    api(
      MODEL_STORE_PATH,
      'Model store',
      async () => (await import('../api/model-store/index.js')).MODEL_STORE_METHODS,
    ),
  ]
}

function dataprocApi(): Api<GatewayContext> {
  return apiOf(
    DATAPROC_PATH,
    'Data processing',
    async () => (await import('../api/dataproc/index.js')).DATAPROC_METHODS,
  )
}

/** Returns a function that finds the path of a method, or of an upload of that name. */
export function pathFinder<C>(apis: readonly Api<C>[]): (method: string) => Promise<string | undefined> {
  return async (method) => {
    if (isUploadName(method)) return `${MODEL_STORE_PATH}/upload/${method}`
    for (const { path, methods } of apis) if ((await methods()).has(method)) return path
    return undefined
  }
}

/**
 * Methods of several rooms that share a path. A room that could not be loaded is tried again by the next call.
 *
 * @param rooms each loads the methods of a room
 * @throws Error from `methods` when two have one name
 */
export function apiOf<C>(
  path: string,
  title: string,
  ...rooms: readonly (() => Promise<readonly Method<C>[]>)[]
): Api<C> {
  return {
    path,
    title,
    methods: kept(async () => byName((await Promise.all(rooms.map((room) => room()))).flat())),
  }
}

function byName<C>(rooms: readonly Method<C>[]): ReadonlyMap<string, Method<C>> {
  const methods = new Map<string, Method<C>>()
  for (const method of rooms) {
    if (methods.has(method.name)) throw new Error(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return methods
}

/** The OpenRPC document of one path, or of all of them. */
export async function describeApis<C>(apis: readonly Api<C>[], version: string): Promise<object> {
  const { openRpcDocument } = await import('../rpc/openrpc.js')
  const methods = (await Promise.all(apis.map((api) => methodsOf(api)))).flat()
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
export async function methodsOf<C>(api: Api<C>): Promise<(MethodFacts & { path: string })[]> {
  return [...(await api.methods()).values()].map((method) => ({ ...method, path: api.path }))
}
