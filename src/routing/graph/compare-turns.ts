import { conditionWords } from './condition-words.js'
import { type Graph, NO_ARC } from './graph.js'
import { hopsOf } from './link-hops.js'
import { isBackward } from './topology.js'
import { turnMs } from './turn-costs.js'

/**
 * Names the turns over one junction that a route without a history may not take: three places each, and the
 * conditions where there are any.
 */
export function bannedTurns(graph: Graph): Set<string> {
  const { segmentCount, linkStartArc, head, firstOut, arcLink, nodeJunction } = graph
  const out = linksOut(graph)
  const { arcs: timed } = conditionWords(graph)
  const banned = new Set<string>()
  for (let link = 0; link < segmentCount * 2; link++) {
    const start = linkStartArc[link]!
    if (start === NO_ARC) continue
    const node = head[start]!
    const allowed = new Set<number>()
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const next = arcLink[arc]!
      const words = timed.get(arc)
      allowed.add(next)
      if (words !== undefined) banned.add(`${nameOf(graph, link, next)} ${words}`)
    }
    for (const next of out.get(nodeJunction[node]!)!) {
      if (!allowed.has(next) && next !== (link ^ 1)) banned.add(nameOf(graph, link, next))
    }
  }
  return banned
}

/** Junction → links that leave it and may be driven. */
function linksOut({ segmentCount, segmentTail, segmentHead, linkSpeed }: Graph): Map<number, number[]> {
  const out = new Map<number, number[]>()
  for (let link = 0; link < segmentCount * 2; link++) {
    const from = isBackward(link) ? segmentHead[link >>> 1]! : segmentTail[link >>> 1]!
    const to = isBackward(link) ? segmentTail[link >>> 1]! : segmentHead[link >>> 1]!
    const known = out.get(from) ?? []
    if (linkSpeed[link]! > 0) known.push(link)
    out.set(from, known)
    if (!out.has(to)) out.set(to, [])
  }
  return out
}

/**
 * Counts the turns over one junction, allowed in both maps, that have another price for a route without a
 * history.
 */
export function countOtherPrices(here: Graph, there: Graph): number {
  if (here.turnPrices === undefined && there.turnPrices === undefined) return 0
  const pricesHere = turnPrices(here)
  let count = 0
  for (const [turn, ms] of turnPrices(there)) {
    const known = pricesHere.get(turn)
    if (known !== undefined && known !== ms) count++
  }
  return count
}

/** Name of a turn → its price, milliseconds. */
function turnPrices(graph: Graph): Map<string, number> {
  const { segmentCount, linkStartArc, head, firstOut, arcLink } = graph
  const prices = new Map<string, number>()
  for (let link = 0; link < segmentCount * 2; link++) {
    const start = linkStartArc[link]!
    if (start === NO_ARC) continue
    const node = head[start]!
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++)
      prices.set(nameOf(graph, link, arcLink[arc]!), turnMs(graph, arc))
  }
  return prices
}

/** Name of a turn by the places around it. */
function nameOf(graph: Graph, link: number, next: number): string {
  return `${hopsOf(graph, link).at(-1)!.place} ${hopsOf(graph, next)[0]!.place}`
}
