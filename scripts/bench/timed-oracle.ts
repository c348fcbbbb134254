// What a departure into a changing risk must cost: the textbook algorithm over places and slots, without bounds.
import { type Graph, isBannedUTurn } from '../../src/routing/graph/graph.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import { drivenFrom, drivenTo, endsOf, type LinkEnd, NO_LINK } from '../../src/routing/search/link-ends.js'
import type { Profile } from '../../src/routing/search/profile.js'

/** Profiles of consecutive slots, and the milliseconds after the departure at which each begins. */
export interface Slots {
  readonly startMs: readonly number[]
  readonly profiles: readonly Profile[]
  /** slot → arc → cost of entering its link in that slot, negative = closed */
  readonly weights: readonly Float64Array[]
  /** arc → driving time */
  readonly driveMs: Float64Array
}

interface Label {
  readonly node: number
  /** by which the node was reached */
  readonly link: number
  readonly slot: number
  readonly costMs: number
  readonly clockMs: number
  readonly arc: number
  readonly parent: Label | undefined
}

/**
 * Returns the cost of the cheapest path from a place to another, Infinity when there is none. Of paths that reach a
 * node in one slot the cheapest goes on, of equally cheap ones the earliest. Where that path turns round and must
 * not, each link by which a node is reached counts for itself; a path that turns round is the last resort.
 *
 * @param directMs cost of driving from one to the other on their common road; Infinity = impossible
 */
export function timedCost(graph: Graph, slots: Slots, from: Snap, to: Snap, directMs: number): number {
  const byNode = search(graph, slots, from, to, false)
  if (byNode === undefined || byNode.costMs >= directMs) return directMs
  if (!byNode.turnsRound) return byNode.costMs
  const byLink = search(graph, slots, from, to, true)
  if (byLink !== undefined) return Math.min(directMs, byLink.costMs)
  return Math.min(directMs, Number.isFinite(directMs) ? directMs : byNode.costMs)
}

function search(
  graph: Graph,
  slots: Slots,
  from: Snap,
  to: Snap,
  isByLink: boolean,
): { costMs: number; turnsRound: boolean } | undefined {
  const { firstOut, head, arcLink } = graph
  const targets = slots.profiles.map((profile) => byNode(endsOf(profile, to).targets))
  const known = new Map<string, Label>()
  const done = new Set<Label>()
  const queue: Label[] = []
  const offer = (label: Label, place: number) => {
    const key = `${place}|${label.slot}`
    const other = known.get(key)
    if (other !== undefined && (done.has(other) || compare(other, label) <= 0)) return
    known.set(key, label)
    push(queue, label)
  }
  for (const [i, source] of endsOf(slots.profiles[0]!, from).sources.entries()) {
    const clockMs = driveOf(graph, source)
    const link = drivenFrom(graph, source)
    const start = { node: source.node, link, slot: slotAt(slots, clockMs), costMs: source.costMs, clockMs }
    offer({ ...start, arc: ~i, parent: undefined }, isByLink ? graph.arcCount + i : source.node)
  }
  let best: { costMs: number; label: Label; target: LinkEnd } | undefined
  for (let label = pop(queue); label !== undefined; label = pop(queue)) {
    if (best !== undefined && label.costMs >= best.costMs) break
    const { node, slot, costMs, clockMs } = label
    const link = isByLink ? label.link : NO_LINK
    if (known.get(`${placeOf(graph, label, isByLink)}|${slot}`) !== label || done.has(label)) continue
    done.add(label)
    for (const target of targets[slot]!.get(node) ?? []) {
      if (isBannedUTurn(graph, link, drivenTo(graph, target))) continue
      const sumMs = costMs + target.costMs
      if (best === undefined || sumMs < best.costMs) best = { costMs: sumMs, label, target }
    }
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const weightMs = slots.weights[slot]![arc]!
      if (weightMs < 0 || isBannedUTurn(graph, link, arcLink[arc]!)) continue
      const next = clockMs + slots.driveMs[arc]!
      const driven = { node: head[arc]!, link: arcLink[arc]!, slot: slotAt(slots, next) }
      const reached = { ...driven, costMs: costMs + weightMs, clockMs: next, arc, parent: label }
      offer(reached, isByLink ? arc : head[arc]!)
    }
  }
  if (best === undefined) return undefined
  return { costMs: best.costMs, turnsRound: turnsRound(graph, best.label, best.target) }
}

function placeOf(graph: Graph, { node, arc }: Label, isByLink: boolean): number {
  if (!isByLink) return node
  return arc >= 0 ? arc : graph.arcCount + ~arc
}

function turnsRound(graph: Graph, last: Label, target: LinkEnd): boolean {
  let next = drivenTo(graph, target)
  for (let label: Label | undefined = last; label !== undefined; label = label.parent) {
    if (isBannedUTurn(graph, label.link, next)) return true
    next = label.link
  }
  return false
}

/** Driving time from a place to the end of its link. */
function driveOf(graph: Graph, { link, point, entryMs = 0 }: LinkEnd): number {
  const lengthMm = graph.segmentLengthMm[link >>> 1]!
  const drivenMm = link % 2 === 0 ? lengthMm - point.offsetMm : point.offsetMm
  return Math.round((drivenMm * 36) / graph.linkSpeed[link]!) + entryMs
}

function slotAt({ startMs }: Slots, clockMs: number): number {
  return startMs.filter((ms) => ms <= clockMs).length - 1
}

function byNode(ends: readonly LinkEnd[]): Map<number, LinkEnd[]> {
  const found = new Map<number, LinkEnd[]>()
  for (const end of ends) found.set(end.node, [...(found.get(end.node) ?? []), end])
  return found
}

function compare(a: Label, b: Label): number {
  return a.costMs - b.costMs || a.clockMs - b.clockMs || a.arc - b.arc
}

function push(heap: Label[], label: Label): void {
  let at = heap.push(label) - 1
  while (at > 0) {
    const up = (at - 1) >> 1
    if (heap[up]!.costMs <= label.costMs) break
    heap[at] = heap[up]!
    at = up
  }
  heap[at] = label
}

function pop(heap: Label[]): Label | undefined {
  const top = heap[0]
  const item = heap.pop()
  if (item === undefined || heap.length === 0) return top
  let at = 0
  for (;;) {
    let down = at * 2 + 1
    if (down >= heap.length) break
    if (down + 1 < heap.length && heap[down + 1]!.costMs < heap[down]!.costMs) down++
    if (heap[down]!.costMs >= item.costMs) break
    heap[at] = heap[down]!
    at = down
  }
  heap[at] = item
  return top
}
