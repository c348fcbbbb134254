import { cutLine } from '../routing/graph/geometry.js'
import type { Graph } from '../routing/graph/graph.js'
import { nearestJunction } from '../routing/graph/nearest-junction.js'
import { doubleAt, numberAt } from '../routing/graph/paged.js'
import { readNotes, readString } from '../routing/graph/strings.js'
import { isBackward, segmentOf } from '../routing/graph/topology.js'
import { hours, MS_PER_HOUR } from '../routing/search/cost.js'
import type { DrivenStep, Route } from '../routing/search/route.js'

/** A link of a route, or the driven part of it, as a GeoJSON Feature in wire names. */
export interface RouteFeature {
  type: 'Feature'
  geometry: { type: 'LineString'; coordinates: [number, number][] }
  properties: {
    edge_id: number
    length: number
    speed: number
    risk: number
    waypoint: boolean
    notes: string[]
    name: string
    time: number
    /** price of the turn by which the link is entered, hours; absent where it is 0 */
    turn_cost?: number
  }
}

/** Sums over a route in wire names. Lengths in metres, times in hours. */
export interface RouteTotals {
  length: number
  time: number
  total_cost: number
  /** prices of turns, part of `total_cost` */
  turn_cost: number
  max_risk: number
  avr_risk: number
  /** Σ level · hours, the highest level among the themes */
  exposure: number
}

/**
 * Returns the links of a route in the order of travel, leg by leg. For KML and tests: `writeLeg` writes the
 * same as text.
 *
 * Lengths are whole millimetres, so they add up exactly. Hours are rounded to 12 decimals (4 ns), so that
 * sums of parts agree with the totals to 9 decimals on the longest of routes.
 */
export function featuresOf(graph: Graph, route: Route): RouteFeature[][] {
  const names = new Map<number, string>() // many links of a route share one
  return route.legs.map((steps) =>
    steps.map((step, i) => featureOf(graph, step, i === steps.length - 1, names)),
  )
}

/**
 * Sums up a route. `total_cost` is the documented sum over its pieces, Σ length / speed · (1 + Σ
 * sensitivity), and the prices of turns.
 */
export function totalsOf(route: Route): RouteTotals {
  const [first = [], ...others] = route.legs
  return sumOf(others.length === 0 ? first : route.legs.flat())
}

/** Sums up some steps of a route, as `totalsOf` does. */
export function sumOf(steps: Route['legs'][number]): RouteTotals {
  let lengthMm = 0
  let timeH = 0
  let costH = 0
  let turnMs = 0
  let levelMm = 0
  let levelH = 0
  let maxLevel = 0
  for (const step of steps) {
    const { speed } = step
    lengthMm += step.lengthMm
    timeH += hours(step.lengthMm, speed)
    costH += hours(step.weightedMm, speed) + step.turnMs / MS_PER_HOUR
    turnMs += step.turnMs
    levelMm += step.levelMm
    levelH += hours(step.levelMm, speed)
    maxLevel = Math.max(maxLevel, step.maxLevel)
  }
  return {
    length: lengthMm / 1000,
    time: roundHours(timeH),
    total_cost: roundHours(costH),
    turn_cost: roundHours(turnMs / MS_PER_HOUR),
    max_risk: maxLevel,
    avr_risk: lengthMm === 0 ? 0 : roundHours(levelMm / lengthMm),
    exposure: roundHours(levelH),
  }
}

/** Returns the OSM id of the junction nearest to a point. */
export function nearestNodeId(graph: Graph, lng: number, lat: number): number {
  return doubleAt(graph.junctionOsmId, nearestJunction(graph, lng, lat))
}

/** Rounds to 12 decimals. */
export function roundHours(value: number): number {
  return Math.round(value * 1e12) / 1e12
}

/** Rounds to whole millimetres. */
export function roundMetres(metres: number): number {
  return Math.round(metres * 1000) / 1000
}

function featureOf(
  graph: Graph,
  step: DrivenStep,
  isWaypoint: boolean,
  names: Map<number, string>,
): RouteFeature {
  const { link, from, to, speed } = step
  const segment = segmentOf(link)
  return {
    type: 'Feature',
    geometry: {
      type: 'LineString',
      coordinates: cutLine(graph, segment, isBackward(link), from, to),
    },
    properties: {
      edge_id: link,
      length: step.lengthMm / 1000,
      speed: speed / 10,
      risk: step.maxLevel,
      waypoint: isWaypoint,
      notes: readNotes(graph, link),
      name: nameOf(graph, segment, names),
      time: roundHours(hours(step.lengthMm, speed)),
      ...(step.turnMs === 0 ? {} : { turn_cost: roundHours(step.turnMs / MS_PER_HOUR) }),
    },
  }
}

function nameOf(graph: Graph, segment: number, known: Map<number, string>): string {
  const offset = numberAt(graph.segmentName, segment)
  let name = known.get(offset)
  if (name === undefined) {
    name = readString(graph, offset)
    known.set(offset, name)
  }
  return name
}
