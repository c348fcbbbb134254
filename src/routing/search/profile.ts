import type { Graph, GraphChanges } from '../graph/graph.js'
import { numberAt } from '../graph/paged.js'
import { highestTurnMs, turnMs } from '../graph/turn-costs.js'
import { costMs, measure, meetsClosed } from './cost.js'
import type { Weights } from './dijkstra.js'
import type { Overlay, ThemeRisk } from './overlay.js'

/**
 * Cost model of one search: themes with their sensitivities, closed areas, and the weights of arcs that
 * follow.
 */
export interface Profile {
  readonly graph: Graph
  readonly themes: readonly ThemeRisk[]
  /** pieces of a level above 0 are closed */
  readonly closed: Overlay | undefined
  /** links that the vehicle may not use */
  readonly closedLinks?: ReadonlySet<number> | undefined
  readonly weights: Weights
  /** segment → factor on the cost of its parts; `weights` include it. Only in searches for alternatives */
  readonly surcharge?: ReadonlyMap<number, number>
}

const MAX_INT32 = 0x7fffffff

/**
 * Computes the weight of every arc of a graph: 1 to 3 ms for a city of 145,000 arcs. Weights without risk are
 * computed once a graph and shared.
 *
 * Weights are an Int32Array where the most expensive link under the largest sensitivities fits, a
 * Float64Array otherwise: a sensitivity that means "only if there is no other path" (9999) must not overflow
 * on a long link.
 */
export function createProfile(
  graph: Graph,
  themes: readonly ThemeRisk[] = [],
  closed?: Overlay,
  closedLinks?: ReadonlySet<number>,
): Profile {
  const free = freeWeights(graph)
  // factor that level 0 adds outside of all cells; 0 in most profiles
  const everywhere = sum(themes.map((theme) => theme.sensitivity[0]!))
  if (
    themes.every((theme) => theme.overlay.segments.length === 0) &&
    everywhere === 0 &&
    closed === undefined &&
    closedLinks === undefined
  ) {
    return { graph, themes, closed, weights: free }
  }
  const weights = fits(graph, themes) ? new Int32Array(graph.arcCount) : new Float64Array(graph.arcCount)
  // O(arcs) in either case; only the segments that an overlay lists are measured piece by piece below
  if (everywhere === 0) weights.set(free)
  else fillUniform(graph, weights, 1 + everywhere)
  for (const { overlay } of themes) weighListed(graph, themes, overlay, weights)
  // last, because closed wins over any cost
  if (closed !== undefined) closeListed(graph, closed, weights)
  if (closedLinks !== undefined) closeLinks(graph, closedLinks, weights)
  closeNow(graph, weights)
  return { graph, themes, closed, closedLinks, weights }
}

/**
 * Returns the cost of driving a link between two offsets from its segment's tail, milliseconds; -1 when a
 * closed piece lies between them, or the link is closed to the vehicle.
 */
export function partMs(profile: Profile, link: number, fromMm: number, toMm: number): number {
  const { graph, closed, closedLinks, themes } = profile
  const segment = link >>> 1
  if (graph.linkSpeed[link] === 0 || closedLinks?.has(link) === true) return -1
  if (closed !== undefined && meetsClosed(closed, segment, fromMm, toMm)) return -1
  const { weightedMm } = measure(themes, segment, fromMm, toMm)
  return costMs(weightedMm * (profile.surcharge?.get(segment) ?? 1), graph.linkSpeed[link]!)
}

/** Returns the weights without risk; computed once a graph. */
export function freeWeights(graph: Graph): Weights {
  return freeFlow(graph).weights
}

interface FreeFlow {
  readonly weights: Weights
  /** cost of driving the most expensive link */
  readonly highestMs: number
  /** bound of the prices of turns */
  readonly highestTurnMs: number
}

function freeFlow(graph: Graph): FreeFlow {
  let free = freeFlows.get(graph)
  if (free === undefined) {
    free = graph.changes === undefined ? freeFlowOf(graph) : changedFreeFlow(graph, graph.changes)
    freeFlows.set(graph, free)
  }
  return free
}

function freeFlowOf(graph: Graph): FreeFlow {
  const highestMs = highestFreeMs(graph, graph.linkSpeed.keys())
  const turnsMs = highestTurnMs(graph)
  const isInt32 = highestMs + turnsMs <= MAX_INT32
  const weights = isInt32 ? new Int32Array(graph.arcCount) : new Float64Array(graph.arcCount)
  fillUniform(graph, weights, 1)
  closeNow(graph, weights)
  return { weights, highestMs, highestTurnMs: turnsMs }
}

/** Computes the weights of a graph under conditions from those of the graph without: a copy and the changes. */
function changedFreeFlow(graph: Graph, { base, links, arcs }: GraphChanges): FreeFlow {
  const before = freeFlow(base)
  const highestMs = Math.max(before.highestMs, highestFreeMs(graph, links))
  const isInt32 = highestMs + before.highestTurnMs <= MAX_INT32
  const weights = isInt32 ? Int32Array.from(before.weights) : Float64Array.from(before.weights)
  const { linkFirstArc, linkArcs, arcLink, segmentLengthMm, linkSpeed } = graph
  const setFree = (arc: number) => {
    const link = arcLink[arc]!
    const speed = linkSpeed[link]!
    const isOpen = speed > 0
    weights[arc] = isOpen ? costMs(segmentLengthMm[link >>> 1]!, speed) + turnMs(graph, arc) : -1
  }
  for (const link of links) {
    const end = numberAt(linkFirstArc, link + 1)
    for (let at = numberAt(linkFirstArc, link); at < end; at++) setFree(numberAt(linkArcs, at))
  }
  for (const arc of arcs) setFree(arc)
  closeNow(graph, weights)
  return { weights, highestMs, highestTurnMs: before.highestTurnMs }
}

const freeFlows = new WeakMap<Graph, FreeFlow>()

/** Returns the cost of driving the most expensive of some links without risk, which decides the kind of the arrays. */
function highestFreeMs(graph: Graph, links: Iterable<number>): number {
  const { segmentLengthMm, linkSpeed } = graph
  let highestMs = 0
  for (const link of links) {
    const speed = linkSpeed[link]!
    // a speed of 0 is a closed link
    if (speed > 0) highestMs = Math.max(highestMs, costMs(segmentLengthMm[link >>> 1]!, speed))
  }
  return highestMs
}

/**
 * Returns true when no link can cost more than an Int32 holds, even where each theme has its worst level on
 * all of it.
 */
function fits(graph: Graph, themes: readonly ThemeRisk[]): boolean {
  const largest = 1 + sum(themes.map((theme) => Math.max(...theme.sensitivity)))
  // + 1 covers the rounding of the product; risk multiplies driving times, not the prices of turns
  const free = freeFlow(graph)
  return free.highestMs * largest + 1 + free.highestTurnMs <= MAX_INT32
}

/** Sets all weights with one factor: no cell, or `sensitivity[0]` alone. Rounds exactly as `costMs` does. */
function fillUniform(graph: Graph, weights: Weights, factor: number): void {
  const { arcCount, arcLink, segmentLengthMm, linkSpeed } = graph
  for (let arc = 0; arc < arcCount; arc++) {
    const link = arcLink[arc]!
    const speed = linkSpeed[link]!
    const driveMs = Math.round((segmentLengthMm[link >>> 1]! * factor * 36) / speed)
    // a link without a speed is one that conditions open
    weights[arc] = speed === 0 ? -1 : driveMs + turnMs(graph, arc)
  }
}

/**
 * Sets the weights of the listed segments. One that several themes list is set several times, to the same
 * cost.
 */
function weighListed(graph: Graph, themes: readonly ThemeRisk[], overlay: Overlay, weights: Weights): void {
  const { segmentLengthMm, linkSpeed, linkFirstArc, linkArcs } = graph
  const { segments } = overlay
  // with one theme, entry i of its list is the segment itself: no search is needed
  const only = themes.length === 1 ? themes[0] : undefined
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    const weightedMm =
      only === undefined
        ? measure(themes, segment, 0, segmentLengthMm[segment]!).weightedMm
        : weightedLength(only, i)
    for (let link = segment * 2; link <= segment * 2 + 1; link++) {
      const first = numberAt(linkFirstArc, link)
      const end = numberAt(linkFirstArc, link + 1)
      if (first === end || linkSpeed[link] === 0) continue
      // one driving cost for all arcs of the link: they differ in their turns, not in the road
      const driveMs = costMs(weightedMm, linkSpeed[link]!)
      for (let at = first; at < end; at++) {
        const arc = numberAt(linkArcs, at)
        weights[arc] = driveMs + turnMs(graph, arc)
      }
    }
  }
}

/**
 * `measure(…).weightedMm` of a whole listed segment under one theme, the common case, without the binary
 * search.
 */
function weightedLength({ overlay, sensitivity }: ThemeRisk, listed: number): number {
  const { firstPiece, pieceEndMm, pieceLevel } = overlay
  let weightedMm = 0
  let atMm = 0
  for (let piece = firstPiece[listed]!, end = firstPiece[listed + 1]!; piece < end; piece++) {
    const endMm = pieceEndMm[piece]!
    weightedMm += (endMm - atMm) * (1 + sensitivity[pieceLevel[piece]!]!)
    atMm = endMm
  }
  return weightedMm
}

/**
 * A link with a closed piece is closed to through traffic; its open ends can still be reached, see `partMs`.
 */
function closeListed(graph: Graph, closed: Overlay, weights: Weights): void {
  const { segmentLengthMm, linkFirstArc, linkArcs } = graph
  for (const segment of closed.segments) {
    if (!meetsClosed(closed, segment, 0, segmentLengthMm[segment]!)) continue
    const first = numberAt(linkFirstArc, segment * 2)
    const end = numberAt(linkFirstArc, segment * 2 + 2)
    for (let at = first; at < end; at++) weights[numberAt(linkArcs, at)] = -1
  }
}

/** Closes the arcs that must not be driven now, such as a turn that is forbidden at this hour. */
function closeNow({ closedArcs }: Graph, weights: Weights): void {
  for (const arc of closedArcs ?? []) weights[arc] = -1
}

/** Closes links to a vehicle. */
function closeLinks(graph: Graph, links: ReadonlySet<number>, weights: Weights): void {
  const { linkFirstArc, linkArcs } = graph
  for (const link of links) {
    const end = numberAt(linkFirstArc, link + 1)
    for (let at = numberAt(linkFirstArc, link); at < end; at++) weights[numberAt(linkArcs, at)] = -1
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
