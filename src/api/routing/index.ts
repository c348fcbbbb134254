import type { Method } from '../../rpc/define-method.js'
import { calcRisk } from './calc-risk.js'
import type { RoutingContext } from './context.js'
import { dijkstra } from './dijkstra.js'
import { findPlaces } from './find-places.js'
import { isochrone } from './isochrone.js'
import { listMaps } from './list-maps.js'
import { matrix } from './matrix.js'
import { nearest } from './nearest.js'

export type { RoutingContext } from './context.js'

/** Methods `routing.*` of `/api/v1/{apiName}api/jsonrpc`. */
export const ROUTING_METHODS: readonly Method<RoutingContext>[] = [
  dijkstra,
  calcRisk,
  listMaps,
  nearest,
  findPlaces,
  matrix,
  isochrone,
]
