import type { BaseContext } from '../../api/context.js'
import { type DataLoaderContext, GET_FILE_METHODS, LOADER_METHODS } from '../../api/dataloader/index.js'
import { DATAPROC_METHODS } from '../../api/dataproc/index.js'
import { DATASET_READS, DATASET_WRITES, type DatasetContext } from '../../api/dataset/index.js'
import { type FlContext, HUB_FL_METHODS, OUTBOX_METHODS } from '../../api/fl/index.js'
import { HUB_FLEET_METHODS, type HubFleetContext, OWN_MEMBERSHIP } from '../../api/fleet/index.js'
import { MAP_METHODS, type MapContext } from '../../api/map/index.js'
import { MODEL_STORE_METHODS, type ModelStoreContext } from '../../api/model-store/index.js'
import { ROUTING_METHODS, type RoutingContext } from '../../api/routing/index.js'
import { SESSION_METHODS, type SessionContext } from '../../api/session/index.js'
import { HUB_SYNC_METHODS, SENDER_METHODS, type SyncContext } from '../../api/sync/index.js'
import type { Config } from '../../config/config.js'
import { AppError } from '../../errors.js'
import type { Method } from '../../rpc/define-method.js'
import type { Api } from '../../rpc/dispatch.js'
import { API_PATHS, apiOf, DATAPROC_PATH, LOADER_PATH, MODEL_STORE_PATH, mapApiPath } from '../apis.js'

/** The context of every method of a hub. */
export type HubContext = BaseContext &
  SessionContext &
  HubFleetContext &
  ModelStoreContext &
  Pick<FlContext, 'announceUpload'> &
  DataLoaderContext &
  MapContext &
  RoutingContext &
  Pick<DatasetContext, 'datasets'> &
  Pick<SyncContext, 'feedReceiver' | 'feedGiver' | 'sumsAnswerer' | 'citationReceiver'>

/** Every API of a hub, at the paths of a gateway. What a hub does not have is refused by name. */
export function createHubApis(config: Pick<Config, 'service'>): Api<HubContext>[] {
  const api = (path: string, title: string, ...rooms: (readonly Method<HubContext>[])[]) =>
    apiOf<HubContext>(path, title, ...rooms.map((methods) => async () => methods))
  const absent = (path: string, title: string, ...rooms: (readonly Method<never>[])[]) =>
    api(path, title, ...rooms.map((methods) => refused(methods)))
  return [
    api(API_PATHS.session, 'Sessions', SESSION_METHODS),
    absent(DATAPROC_PATH, 'Data processing', DATAPROC_METHODS),
    api(LOADER_PATH, 'Data loader', LOADER_METHODS),
    api(API_PATHS.getFile, 'Stored files', GET_FILE_METHODS),
    api(mapApiPath(config), 'Event data, risk maps and routes', MAP_METHODS, ROUTING_METHODS),
    api(API_PATHS.dataset, 'Datasets and citations', DATASET_READS, refused(DATASET_WRITES)),
    api(API_PATHS.fl, 'Federated learning', HUB_FL_METHODS, refused(OUTBOX_METHODS)),
    api(API_PATHS.sync, 'Feeds of tables', refused(SENDER_METHODS), HUB_SYNC_METHODS),
    api(API_PATHS.fleet, 'Fleet', HUB_FLEET_METHODS, refused(OWN_MEMBERSHIP)),
    api(MODEL_STORE_PATH, 'Model store', MODEL_STORE_METHODS),
  ]
}

/** The same methods, each refused by its name after the check of the scope. */
function refused(methods: readonly Method<never>[]): Method<HubContext>[] {
  return methods.map((method) => ({
    ...method,
    errors: ['NOT_ON_HUB'],
    async call() {
      throw notOnHub(method.name)
    },
  }))
}

/** Error of what a hub does not have. @param name a method or a path */
export function notOnHub(name: string): AppError {
  const message = `A hub does not offer ${name}; gateways do`
  return new AppError('NOT_ON_HUB', { what: name }, { message })
}
