import {
  CONDITIONAL_ARC,
  CONDITIONAL_LINK,
  conditionsOf,
  type DecisionTable,
  type MapConditions,
} from './conditions.js'
import type { Graph } from './graph.js'

/** Changes of a map by conditions, as texts that are equal in two maps where the changes are. */
export interface ConditionWords {
  /** link → text */
  readonly links: ReadonlyMap<number, string>
  /** arc → text */
  readonly arcs: ReadonlyMap<number, string>
}

/** Writes what conditions change on a map, once; nothing for a map without them. */
export function conditionWords(graph: Graph): ConditionWords {
  let known = written.get(graph)
  if (known === undefined) {
    const found = conditionsOf(graph)
    const words = found?.tables.map((table) => wordsOf(found, table)) ?? []
    known = {
      links: entriesOf(graph.conditionalLinks, CONDITIONAL_LINK, words),
      arcs: entriesOf(graph.conditionalArcs, CONDITIONAL_ARC, words),
    }
    written.set(graph, known)
  }
  return known
}

const written = new WeakMap<Graph, ConditionWords>()

function entriesOf(
  entries: Uint32Array | undefined,
  size: number,
  words: readonly string[],
): Map<number, string> {
  const found = new Map<number, string>()
  for (let at = 0; at < (entries?.length ?? 0); at += size)
    found.set(entries![at]!, words[entries![at + 1]!]!)
  return found
}

/** Outcomes with the conditions that lead to them, in an order that does not depend on numbers. */
function wordsOf({ conditions }: MapConditions, { when, out }: DecisionTable): string {
  const rows = out.map((outcome, position) => {
    const holding = when.filter((_, bit) => ((position >> bit) & 1) === 1).map((at) => conditions[at]!)
    return `${JSON.stringify(holding.sort())} ${outcome}`
  })
  return rows.sort().join('; ')
}
