import type { TurnRule } from '../network/turn-rules.js'
import type { Adjacency } from './adjacency.js'

/** Real junctions on the way from a rule, up to which turning round is forbidden in the graph itself. */
const LEVELS = 3

/**
 * Finds the links around turn rules at whose ends a route could turn round to evade a rule, though it must
 * not: those within some real junctions of the places where rules apply.
 *
 * A node for every link at whose end turning is forbidden would double the graph and treble the time of a
 * search. Without turn rules a cheapest route never turns round, so nodes are needed near rules only; a route
 * that turns round elsewhere all the same is searched again, see `routing/search/exact-path.ts`.
 *
 * @param linkHead link → junction that it leads to
 * @param mayTurn of `findTurningPlaces`
 * @returns links, each once
 */
export function findTurnsNearRules(
  adjacency: Adjacency,
  linkHead: (link: number) => number,
  rules: readonly TurnRule[],
  mayTurn: Uint8Array,
): Set<number> {
  const found = new Set<number>()
  const note = (link: number) => {
    if (mayTurn[link] === 0 && adjacency.isOpen(link) && adjacency.isOpen(link ^ 1)) found.add(link)
  }
  const starts = new Set(rules.flatMap(({ links }) => links.slice(0, -1).map(linkHead)))
  const seen = new Set<number>()
  let level = [...starts].flatMap((start) => [...adjacency.linksOut(start)])
  for (const link of level) note(link ^ 1) // arrives at the rule's place
  for (let passed = 0; passed < LEVELS; passed++) {
    const next: number[] = []
    for (const link of level) {
      if (seen.has(link)) continue
      seen.add(link)
      note(link)
      const end = linkHead(link)
      // a change of speed or name is no junction: the level goes on behind it
      const onward = adjacency.degree(end) > 2 ? next : level
      for (const following of adjacency.linksOut(end)) if (following !== (link ^ 1)) onward.push(following)
    }
    level = next
  }
  return found
}

/** Returns the rules against turning round at the ends of some links. */
export function uTurnRules(links: Iterable<number>): TurnRule[] {
  return [...links].sort((a, b) => a - b).map((link) => ({ kind: 'no', links: [link, link ^ 1] }))
}
