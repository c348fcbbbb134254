import type { TurnRule } from '../network/turn-rules.js'
import type { Adjacency } from './adjacency.js'

/**
 * Finds rules against turning back in the middle of a road, where a route could gain by it.
 *
 * Without turn restrictions a cheapest route never turns back. With one, it could drive past the junction,
 * turn where only the speed limit changes, come back and so bypass the restriction. So from every junction
 * with a rule each road is followed over junctions of exactly two segment ends, up to the next real junction
 * or dead end, where turning is allowed.
 *
 * @param linkHead link → junction that it leads to
 */
export function findUTurnRules(
  adjacency: Adjacency,
  linkHead: (link: number) => number,
  rules: readonly TurnRule[],
): TurnRule[] {
  const found = new Map<number, TurnRule>()
  const starts = new Set(rules.flatMap(({ links }) => links.slice(0, -1).map(linkHead)))
  for (const start of starts) {
    for (const first of adjacency.linksOut(start)) {
      let link: number | undefined = first
      while (link !== undefined && !found.has(link)) {
        const onward = onlyWayOn(adjacency, linkHead(link), link)
        if (onward === undefined) break
        found.set(link, { kind: 'no', links: [link, link ^ 1] })
        link = onward
      }
    }
  }
  return [...found.values()].filter(({ links }) => adjacency.isOpen(links[1]!))
}

/**
 * Link that continues where exactly one other road does; undefined at real junctions, dead ends and loops.
 */
function onlyWayOn(adjacency: Adjacency, junction: number, link: number): number | undefined {
  if (adjacency.degree(junction) !== 2) return undefined
  for (const next of adjacency.linksOut(junction)) {
    if (next >>> 1 !== link >>> 1) return next
  }
  return undefined
}
