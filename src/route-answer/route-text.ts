import type { Graph } from '../routing/graph/graph.js'
import type { Snap } from '../routing/graph/snap.js'
import type { Order } from '../routing/search/cost-matrix.js'
import { inOrder, type Route } from '../routing/search/route.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import type { Solution } from '../routing/search/solve.js'
import { joinText } from './byte-text.js'
import { featuresOf, nearestNodeId, type RouteTotals, totalsOf } from './features.js'
import { routeKml } from './kml.js'
import { type LegWriter, legText, type RouteShape, wholeLegText } from './leg-text.js'
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
  /** scratch; one text at a time within a slice */
  readonly writer: LegWriter
}

/** Parts of a text in UTF-8. */
type Text = readonly (string | Uint8Array)[]

/** Key of the result → JSON text of its value, in the order of the text. */
type Fields = Record<string, Text>

/**
 * Writes the result of `routing.dijkstra`. A slice is one leg.
 *
 * @returns JSON text in UTF-8, in a buffer of its own; equal solutions give equal bytes
 */
export function* routeText(solution: Solution, input: RouteTextInput): SlicedTask<Uint8Array<ArrayBuffer>> {
  const { order, best, alternatives } = solution
  const points = order === undefined ? input.points : inOrder(input.points, order.via)
  const visited = { ...input, points }
  const fields = { ...(yield* routeFields(best, visited)), ...snapFields(input), ...orderFields(order) }
  if (alternatives === undefined) return joinText(objectText(fields))
  const others: Text[] = []
  for (const route of alternatives) others.push(objectText(yield* routeFields(route, visited)))
  return joinText(objectText({ ...fields, alternatives: ['[', ...withCommas(others), ']'] }))
}

function objectText(fields: Fields): Text {
  const members = Object.entries(fields).map(([key, value]) => [`${JSON.stringify(key)}:`, ...value])
  return ['{', ...withCommas(members), '}']
}

function withCommas(texts: readonly Text[]): Text {
  return texts.flatMap((text, i) => (i === 0 ? text : [',', ...text]))
}

/** @param input with the points in the order of visit */
function* routeFields(
  route: Route,
  { graph, points, withKml, shape, routeKey, writer }: RouteTextInput,
): SlicedTask<Fields> {
  const legs: Text[] = []
  for (const [leg, steps] of route.legs.entries()) {
    yield
    if (steps.length === 0) continue
    const { perArc, geometry } = shape
    const text = perArc
      ? legText(writer, graph, steps, geometry)
      : wholeLegText(writer, graph, steps, leg, geometry)
    legs.push([text])
  }
  yield
  const totals = totalsOf(route)
  const [start, goal] = [points[0]!, points[points.length - 1]!]
  const fields: Fields = {}
  if (withKml) fields.kml = [JSON.stringify(kmlOf(graph, route, totals, points))]
  fields[routeKey] = ['{"type":"FeatureCollection","features":[', ...withCommas(legs), ']}']
  for (const [name, value] of Object.entries(totals)) fields[name] = [JSON.stringify(value)]
  fields.start_node = [String(nearestNodeId(graph, start.lng, start.lat))]
  fields.end_node = [String(nearestNodeId(graph, goal.lng, goal.lat))]
  return fields
}

function kmlOf(graph: Graph, route: Route, totals: RouteTotals, points: readonly RequestPoint[]): string {
  return routeKml({ legs: featuresOf(graph, route), totals, points, attribution: graph.meta.attribution })
}

/** Lists the places to which the points of the request were moved, via points in the order given. */
function snapFields({ graph, snaps }: RouteTextInput): Fields {
  const [start = '', ...others] = snaps.map((snap) => JSON.stringify(endInfo(graph, snap)))
  const goal = others.pop() ?? ''
  const ends: Fields = { start_snap: [start], goal_snap: [goal] }
  return others.length === 0 ? ends : { ...ends, via_snaps: [`[${others.join(',')}]`] }
}

function orderFields(order: Order | undefined): Fields {
  if (order === undefined) return {}
  return { order_is_optimal: [String(order.isOptimal)], via_order: [JSON.stringify(order.via)] }
}
