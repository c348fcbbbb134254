import type { Method } from '../../rpc/define-method.js'
import type { MapContext } from './context.js'
import { eventdata } from './eventdata.js'
import { riskmap } from './riskmap.js'

export type { MapContext } from './context.js'

/** Methods of event data and risk maps, at `/api/v1/{apiName}api/jsonrpc`. */
export const MAP_METHODS: readonly Method<MapContext>[] = [eventdata, riskmap]
