import type { Graph } from '../routing/graph/graph.js'
import type { Snap } from '../routing/graph/snap.js'
import type { Order } from '../routing/search/cost-matrix.js'
import { inOrder, type Route } from '../routing/search/route.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import type { Solution } from '../routing/search/solve.js'
import { addText, takeBytes } from './byte-text.js'
import { featuresOf, nearestNodeId, type RouteTotals, totalsOf } from './features.js'
import { routeKml } from './kml.js'
import { type LegWriter, type RouteShape, writeLeg, writeWholeLeg } from './leg-text.js'
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
  readonly shape: RouteShape
  /** `service.routeKey`: name of the FeatureCollection in the result */
  readonly routeKey: string
  /** of this answer alone until its text is complete */
  readonly writer: LegWriter
}

/** Key of the result → JSON text of its value, in the order of the text. */
type Fields = Record<string, string>

/**
 * Writes the result of `routing.dijkstra`. A slice is one leg.
 *
 * @returns JSON text in UTF-8, in a buffer of its own; equal solutions give equal bytes
 */
export function* routeText(solution: Solution, input: RouteTextInput): SlicedTask<Uint8Array<ArrayBuffer>> {
  const { order, best, alternatives } = solution
  const { text } = input.writer
  const points = order === undefined ? input.points : inOrder(input.points, order.via)
  const visited = { ...input, points }
  text.size = 0
  addText(text, '{')
  yield* writeRoute(best, visited)
  addText(text, `,${membersText({ ...snapFields(input), ...orderFields(order) })}`)
  if (alternatives !== undefined) {
    addText(text, ',"alternatives":[')
    for (const [i, route] of alternatives.entries()) {
      addText(text, i === 0 ? '{' : ',{')
      yield* writeRoute(route, visited)
      addText(text, '}')
    }
    addText(text, ']')
  }
  addText(text, '}')
  return takeBytes(text)
}

function membersText(fields: Fields): string {
  return Object.entries(fields)
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
    .join(',')
}

/** Adds the members of a route. @param input with the points in the order of visit */
function* writeRoute(
  route: Route,
  { graph, points, withKml, shape, routeKey, writer }: RouteTextInput,
): SlicedTask<void> {
  const { text } = writer
  const totals = totalsOf(route)
  if (withKml) addText(text, `"kml":${JSON.stringify(kmlOf(graph, route, totals, points))},`)
  addText(text, `${JSON.stringify(routeKey)}:{"type":"FeatureCollection","features":[`)
  let isFirst = true
  for (const [leg, steps] of route.legs.entries()) {
    yield
    if (steps.length === 0) continue
    if (!isFirst) addText(text, ',')
    isFirst = false
    if (shape.perArc) writeLeg(writer, graph, steps, shape.geometry)
    else writeWholeLeg(writer, graph, steps, leg, shape.geometry)
  }
  yield
  const [start, goal] = [points[0]!, points[points.length - 1]!]
  const fields: Fields = {}
  for (const [name, value] of Object.entries(totals)) fields[name] = JSON.stringify(value)
  fields.start_node = String(nearestNodeId(graph, start.lng, start.lat))
  fields.end_node = String(nearestNodeId(graph, goal.lng, goal.lat))
  addText(text, `]},${membersText(fields)}`)
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
