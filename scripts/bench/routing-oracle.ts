// What an answer must cost: layer 1 on prices of its own making, and the sum of an answer's own links.

import type { Polygon } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import type { RequestPoint } from '../../src/route-answer/request-point.js'
import { snapChoices } from '../../src/route-engine/locate.js'
import { LINK_FLAG, type NamedGraph } from '../../src/routing/graph/graph.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import { PRIVATE_ENTRY_MS, U_TURN_MS } from '../../src/routing/graph/turn-costs.js'
import type { Control } from '../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { createProfile, type Profile, partMs } from '../../src/routing/search/profile.js'
import { findOrder, findRoute, inOrder } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { type Answer, LEVEL, type Question } from './routing-world.js'

const MAX_SNAP_M = 1000

export interface Oracle {
  readonly profile: Profile
  /**
   * integral milliseconds of the cheapest way, via points in the best order when they may be reordered; Infinity
   * where there is none
   */
  costMs(question: Question): number
  /** the same of an answer, from its links */
  answerMs(question: Question, answer: Answer): number
  costs(nodes: readonly number[], targets: readonly number[]): Float64Array
}

/** Cells of `LEVEL` with the sensitivities that price them. */
export interface Risk {
  readonly polygons: readonly Polygon[]
  readonly sensitivity: readonly number[]
}

/** Creates the reference search, which computes costs from polygons, without tables or caches. */
export function createOracle(
  map: NamedGraph,
  risks: readonly Risk[] = [],
  state = createSearchState(map.graph.nodeCount),
  avoid: readonly Polygon[] = [],
): Oracle {
  const overlayOf = (polygons: readonly Polygon[]) => {
    const cells = createCellSet()
    for (const polygon of polygons) addCell(cells, polygon, LEVEL)
    return buildOverlay(map.graph, cells)
  }
  const themes = risks.map(({ polygons, sensitivity }) => ({ overlay: overlayOf(polygons), sensitivity }))
  const profile = createProfile(map.graph, themes, avoid.length === 0 ? undefined : overlayOf(avoid))
  const search = createDijkstraSearch(map.graph, profile.weights, state)
  return {
    profile,
    costMs(question) {
      const points = pointsOf(question)
      const searcher = { profile, search, control: endless() }
      for (const places of snapChoices(map, points, MAX_SNAP_M)) {
        const order = question.reorder_waypoints === true ? findOrder(searcher, places) : undefined
        if (order !== undefined && 'blockedLeg' in order) continue
        const visited = order === undefined ? places : inOrder(places, order.via)
        const route = runToEnd(findRoute(searcher, visited))
        if (!('blockedLeg' in route)) return route.costMs
      }
      return Number.POSITIVE_INFINITY
    },
    answerMs(question, answer) {
      const { via_order: via } = answer
      const sums = snapChoices(map, pointsOf(question), MAX_SNAP_M).map((asked) =>
        sumLegs(profile, via === undefined ? asked : inOrder(asked, via), answer),
      )
      return sums.find((sumMs) => !Number.isNaN(sumMs)) ?? Number.NaN
    },
    costs(nodes, targets) {
      const ends = (list: readonly number[]) => list.map((node) => [{ node, costMs: 0 }])
      return search.costs(ends(nodes), ends(targets), endless())!
    },
  }
}

export function pointsOf({ start_lonlat, via = [], goal_lonlat }: Question): RequestPoint[] {
  return [start_lonlat, ...via, goal_lonlat].map(([lng, lat], i) => ({ role: `${i}`, lng, lat }))
}

export function endless(): Control {
  return { maxSettledNodes: Number.POSITIVE_INFINITY }
}

/** A leg between equal places has no link: such questions are not asked here. */
function sumLegs(profile: Profile, places: readonly Snap[], { geojson }: Answer): number {
  let sumMs = 0
  let leg: { link: number; mm: number }[] = []
  let at = 0
  for (const { properties } of geojson.features) {
    leg.push({ link: properties.edge_id, mm: Math.round(properties.length * 1000) })
    if (!properties.waypoint) continue
    sumMs += sumLeg(profile, places[at]!, places[at + 1]!, leg)
    at++
    leg = []
  }
  if (at + 1 !== places.length) throw new Error(`found ${at} legs between ${places.length} places`)
  return sumMs
}

/** The first link is driven from somewhere to its end, the last from its beginning; a single one between the places. */
function sumLeg(
  profile: Profile,
  from: Snap,
  to: Snap,
  leg: readonly { link: number; mm: number }[],
): number {
  const { segmentLengthMm, linkFlags } = profile.graph
  if (leg.length === 1) return singleMs(profile, from, to, leg[0]!)
  return leg.reduce((sumMs, { link, mm }, i) => {
    const wholeMm = segmentLengthMm[link >>> 1]!
    if (i > 0 && i + 1 < leg.length && mm !== wholeMm) throw new Error('a link on the way is cut')
    const isAtTail = (i === 0) === (link % 2 === 1) // backward, a link ends at its segment's tail
    const has = (flag: number) => (linkFlags[link]! & flag) !== 0
    const uTurnMs = has(LINK_FLAG.AFTER_U_TURN) ? U_TURN_MS : 0
    const privateMs = has(LINK_FLAG.PRIVATE) && has(LINK_FLAG.FROM_PUBLIC) ? PRIVATE_ENTRY_MS : 0
    const entered = i > 0 ? uTurnMs + privateMs : 0
    return (
      sumMs +
      entered +
      (isAtTail ? partMs(profile, link, 0, mm) : partMs(profile, link, wholeMm - mm, wholeMm))
    )
  }, 0)
}

function singleMs(profile: Profile, from: Snap, to: Snap, { link, mm }: { link: number; mm: number }) {
  const wholeMm = profile.graph.segmentLengthMm[link >>> 1]!
  const offsets = (place: Snap) => {
    const own = place.points.filter(({ segment }) => segment === link >>> 1)
    return [...own.map(({ offsetMm }) => offsetMm), 0, wholeMm]
  }
  for (const a of offsets(from)) {
    for (const b of offsets(to)) {
      const drivenMm = link % 2 === 0 ? b - a : a - b
      if (drivenMm === mm) return partMs(profile, link, Math.min(a, b), Math.max(a, b))
    }
  }
  return Number.NaN
}
