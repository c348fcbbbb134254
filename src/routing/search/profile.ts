import type { Graph } from '../graph/graph.js'
import { costMs, measure, meetsClosed } from './cost.js'
import type { Weights } from './dijkstra.js'
import type { Overlay, ThemeRisk } from './overlay.js'

/** All that prices a road: the themes with their sensitivities, closed areas, and the arcs' costs that follow. */
export interface Profile {
  readonly graph: Graph
  readonly themes: readonly ThemeRisk[]
  /** pieces of a level above 0 must not be driven */
  readonly closed: Overlay | undefined
  readonly weights: Weights
  /** segment → times as dear, for stretches of it: the weights have it already. Only while alternatives are sought */
  readonly surcharge?: ReadonlyMap<number, number>
}

const MAX_INT32 = 0x7fffffff

/**
 * Prices every arc of a graph.
 *
 * Weights are Int32 where the dearest link under the largest sensitivities fits, Float64 otherwise: a level "never,
 * unless there is no other way" (9999) on a long link must not overflow.
 */
export function createProfile(graph: Graph, themes: readonly ThemeRisk[] = [], closed?: Overlay): Profile {
  const free = freeWeights(graph)
  const everywhere = sum(themes.map((theme) => theme.sensitivity[0]!))
  if (
    themes.every((theme) => theme.overlay.segments.length === 0) &&
    everywhere === 0 &&
    closed === undefined
  ) {
    return { graph, themes, closed, weights: free }
  }
  const weights = fits(graph, themes) ? new Int32Array(graph.arcCount) : new Float64Array(graph.arcCount)
  if (everywhere === 0) weights.set(free)
  else fillUniform(graph, weights, 1 + everywhere)
  for (const { overlay } of themes) priceListed(graph, themes, overlay, weights)
  if (closed !== undefined) closeListed(graph, closed, weights)
  return { graph, themes, closed, weights }
}

/** Cost of driving a link between two offsets from its segment's tail; -1 when something closed is in the way. */
export function stretchMs(profile: Profile, link: number, fromMm: number, toMm: number): number {
  const { graph, closed, themes } = profile
  const segment = link >>> 1
  if (closed !== undefined && meetsClosed(closed, segment, fromMm, toMm)) return -1
  const { weightedMm } = measure(themes, segment, fromMm, toMm)
  return costMs(weightedMm * (profile.surcharge?.get(segment) ?? 1), graph.linkSpeed[link]!)
}

/** Costs without risk; computed once a graph. */
export function freeWeights(graph: Graph): Weights {
  return freeFlow(graph).weights
}

interface FreeFlow {
  readonly weights: Weights
  /** cost of the dearest link */
  readonly dearestMs: number
}

function freeFlow(graph: Graph): FreeFlow {
  let free = kept.get(graph)
  if (free === undefined) {
    const dearestMs = dearestFreeMs(graph)
    const weights = dearestMs <= MAX_INT32 ? new Int32Array(graph.arcCount) : new Float64Array(graph.arcCount)
    fillUniform(graph, weights, 1)
    free = { weights, dearestMs }
    kept.set(graph, free)
  }
  return free
}

const kept = new WeakMap<Graph, FreeFlow>()

/** Cost of the dearest link without risk: what decides how wide the numbers must be. */
function dearestFreeMs(graph: Graph): number {
  const { segmentLengthMm, linkSpeed } = graph
  let dearestMs = 0
  for (let link = 0; link < linkSpeed.length; link++) {
    const speed = linkSpeed[link]!
    if (speed > 0) dearestMs = Math.max(dearestMs, costMs(segmentLengthMm[link >>> 1]!, speed))
  }
  return dearestMs
}

/** True when no link can cost more than an Int32 holds, even all of it at each theme's dearest level. */
function fits(graph: Graph, themes: readonly ThemeRisk[]): boolean {
  const largest = 1 + sum(themes.map((theme) => Math.max(...theme.sensitivity)))
  return freeFlow(graph).dearestMs * largest + 1 <= MAX_INT32
}

/** The same factor everywhere: no cell, or `sensitivity[0]` alone. In step with `costMs`, so that sums agree. */
function fillUniform(graph: Graph, weights: Weights, factor: number): void {
  const { arcCount, arcLink, segmentLengthMm, linkSpeed } = graph
  for (let arc = 0; arc < arcCount; arc++) {
    const link = arcLink[arc]!
    weights[arc] = Math.round((segmentLengthMm[link >>> 1]! * factor * 36) / linkSpeed[link]!)
  }
}

/** A segment that several themes list is priced as often, always to the same cost. */
function priceListed(graph: Graph, themes: readonly ThemeRisk[], overlay: Overlay, weights: Weights): void {
  const { segmentLengthMm, linkSpeed, linkFirstArc, linkArcs } = graph
  const { segments } = overlay
  const only = themes.length === 1 ? themes[0] : undefined
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    const weightedMm =
      only === undefined ? measure(themes, segment, 0, segmentLengthMm[segment]!).weightedMm : weigh(only, i)
    for (let link = segment * 2; link <= segment * 2 + 1; link++) {
      const first = linkFirstArc[link]!
      const end = linkFirstArc[link + 1]!
      if (first === end) continue
      const priceMs = costMs(weightedMm, linkSpeed[link]!)
      for (let at = first; at < end; at++) weights[linkArcs[at]!] = priceMs
    }
  }
}

/** What `measure` says of a whole listed segment when there is one theme, which is the common case, without its overhead. */
function weigh({ overlay, sensitivity }: ThemeRisk, listed: number): number {
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

/** A link is closed as a whole when any piece of it is; its open ends can still be reached by `stretchMs`. */
function closeListed(graph: Graph, closed: Overlay, weights: Weights): void {
  const { segmentLengthMm, linkFirstArc, linkArcs } = graph
  for (const segment of closed.segments) {
    if (!meetsClosed(closed, segment, 0, segmentLengthMm[segment]!)) continue
    const first = linkFirstArc[segment * 2]!
    const end = linkFirstArc[segment * 2 + 2]!
    for (let at = first; at < end; at++) weights[linkArcs[at]!] = -1
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
