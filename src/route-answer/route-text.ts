import type { Graph } from '../routing/graph/graph.js'
import type { Snap } from '../routing/graph/snap.js'
import type { Order } from '../routing/search/cost-matrix.js'
import { inOrder, type Route } from '../routing/search/route.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import type { Solution } from '../routing/search/solve.js'
import { featuresOf, nearestNodeId, type RouteTotals, totalsOf } from './features.js'
import { routeKml } from './kml.js'
import { type LegWriter, legText } from './leg-text.js'
import { endInfo } from './map-info.js'
import type { RequestPoint } from './request-point.js'

/** Everything beside the solution that the text of an answer depends on. */
interface RouteTextInput {
  readonly graph: Graph
  /** start, via points as given, goal */
  readonly points: readonly RequestPoint[]
  /** the same points on roads */
  readonly snaps: readonly Snap[]
  readonly withKml: boolean
  /** `service.routeKey`: name of the FeatureCollection in the result */
  readonly routeKey: string
  /** scratch; one text at a time within a slice */
  readonly writer: LegWriter
}

/** Key of the result → JSON text of its value, in the order of the text. */
type Fields = Record<string, string>

/**
 * Writes the result of `routing.dijkstra`. A slice is one leg.
 *
 * @returns JSON text; equal solutions give equal bytes
 */
export function* routeText(solution: Solution, input: RouteTextInput): SlicedTask<string> {
  const { order, best, alternatives } = solution
  const points = order === undefined ? input.points : inOrder(input.points, order.via)
  const visited = { ...input, points }
  const fields = { ...(yield* routeFields(best, visited)), ...snapFields(input), ...orderFields(order) }
  if (alternatives === undefined) return objectText(fields)
  const others: string[] = []
  for (const route of alternatives) others.push(objectText(yield* routeFields(route, visited)))
  return objectText({ ...fields, alternatives: `[${others.join(',')}]` })
}

/** Joins fields to an object by `+`, which refers to long texts, where `join` would copy them. */
function objectText(fields: Fields): string {
  let text = '{'
  for (const [key, value] of Object.entries(fields)) {
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${value}`
  }
  return `${text}}`
}

/** @param input with the points in the order of visit */
function* routeFields(
  route: Route,
  { graph, points, withKml, routeKey, writer }: RouteTextInput,
): SlicedTask<Fields> {
  const legs: string[] = []
  for (const steps of route.legs) {
    yield
    if (steps.length > 0) legs.push(legText(writer, graph, steps))
  }
  yield
  const totals = totalsOf(route)
  const [start, goal] = [points[0]!, points[points.length - 1]!]
  const fields: Fields = {}
  if (withKml) fields.kml = JSON.stringify(kmlOf(graph, route, totals, points))
  fields[routeKey] = `{"type":"FeatureCollection","features":[${legs.join(',')}]}`
  for (const [name, value] of Object.entries(totals)) fields[name] = JSON.stringify(value)
  fields.start_node = String(nearestNodeId(graph, start.lng, start.lat))
  fields.end_node = String(nearestNodeId(graph, goal.lng, goal.lat))
  return fields
}

function kmlOf(graph: Graph, route: Route, totals: RouteTotals, points: readonly RequestPoint[]): string {
  return routeKml({ legs: featuresOf(graph, route), totals, points, attribution: graph.meta.attribution })
}

/** Lists the places to which the points of the request were moved, via points in the order given. */
function snapFields({ graph, snaps }: RouteTextInput): Fields {
  const [start = '', ...others] = snaps.map((snap) => JSON.stringify(endInfo(graph, snap)))
  const goal = others.pop() ?? ''
  const ends: Fields = { start_snap: start, goal_snap: goal }
  return others.length === 0 ? ends : { ...ends, via_snaps: `[${others.join(',')}]` }
}

function orderFields(order: Order | undefined): Fields {
  if (order === undefined) return {}
  return { order_is_optimal: String(order.isOptimal), via_order: JSON.stringify(order.via) }
}
