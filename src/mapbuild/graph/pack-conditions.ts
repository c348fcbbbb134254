import {
  CONDITIONAL_ARC,
  CONDITIONAL_LINK,
  type DecisionTable,
  packConditions,
} from '../../routing/graph/conditions.js'
import { type Graph, NO_ARC } from '../../routing/graph/graph.js'
import type { Segments } from '../network/segments.js'
import type { Decision } from '../profile/decision.js'
import type { Expansion } from './expand.js'

/** Sections of a map file with its conditions. */
type Sections = Required<Pick<Graph, 'conditions' | 'conditionalLinks' | 'conditionalArcs'>>

/** Packs what conditions change on links and arcs; equal decisions share a table. */
export function packDecisions({ linkDecisions }: Segments, { arcBans, startArcs }: Expansion): Sections {
  const conditions: string[] = []
  const tables: DecisionTable[] = []
  const known = new Map<string, number>()
  const conditionOf = (text: string): number => {
    const at = conditions.indexOf(text)
    return at >= 0 ? at : conditions.push(text) - 1
  }
  const tableOf = (decision: Decision): number => {
    const key = JSON.stringify(decision)
    let table = known.get(key)
    if (table === undefined) {
      table = tables.push(ascending(decision.when.map(conditionOf), decision.out)) - 1
      known.set(key, table)
    }
    return table
  }
  const links = new Uint32Array(linkDecisions.size * CONDITIONAL_LINK)
  for (const [i, [link, decision]] of [...linkDecisions].entries()) {
    const [whilePublic = NO_ARC, whilePrivate = NO_ARC] = startArcs.map((arcs) => arcs[link])
    // a link that is treated alike in both uses has one arc
    const starts = [
      whilePublic === NO_ARC ? whilePrivate : whilePublic,
      whilePrivate === NO_ARC ? whilePublic : whilePrivate,
    ]
    links.set([link, tableOf(decision), ...starts], i * CONDITIONAL_LINK)
  }
  const arcs = new Uint32Array(arcBans.size * CONDITIONAL_ARC)
  for (const [i, [arc, ban]] of [...arcBans].entries()) arcs.set([arc, tableOf(ban)], i * CONDITIONAL_ARC)
  return {
    conditions: packConditions({ conditions, tables }),
    conditionalLinks: links,
    conditionalArcs: arcs,
  }
}

/** Returns a table with its conditions in ascending order. */
function ascending(when: readonly number[], out: readonly number[]): DecisionTable {
  const sorted = [...when].sort((a, b) => a - b)
  // position in the new order → position in the old one
  const before = (position: number) =>
    when.reduce((old, condition, bit) => old | (((position >> sorted.indexOf(condition)) & 1) << bit), 0)
  return { when: sorted, out: out.map((_, position) => out[before(position)]!) }
}
