import { parseCondition } from '../conditions/condition.js'
import {
  CONDITIONAL_ARC,
  CONDITIONAL_LINK,
  conditionsOf,
  type DecisionTable,
  MAX_WHEN,
  type MapConditions,
} from './conditions.js'
import { type Graph, NO_ARC } from './graph.js'

/**
 * Finds what is wrong with the conditions of a graph, so that nothing that reads them needs a check.
 *
 * @returns undefined when nothing is
 */
export function faultOfConditions(graph: Graph): string | undefined {
  if (graph.conditions === undefined) {
    const isAlone = graph.conditionalLinks !== undefined || graph.conditionalArcs !== undefined
    return isAlone ? 'it has roads with conditions, but no conditions' : undefined
  }
  const found = readConditions(graph)
  if (found === undefined) return 'its conditions are not JSON of conditions and tables'
  const wrong = found.conditions.findIndex((text) => parseCondition(text) === undefined)
  if (wrong >= 0) return `its condition ${wrong} is ${JSON.stringify(found.conditions[wrong])}, which is none`
  const odd = found.tables.findIndex((table) => !isTable(table, found.conditions.length))
  if (odd >= 0) return `its table ${odd} of conditions is none`
  if (found.conditions.length > 0 && !isTimeZone(graph.meta?.timeZone))
    return `its time zone is ${JSON.stringify(graph.meta?.timeZone)}, which is not known`
  return faultOfLinks(graph, found.tables) ?? faultOfArcs(graph, found.tables)
}

function readConditions(graph: Graph): MapConditions | undefined {
  try {
    const found = conditionsOf(graph)
    const isWhole =
      Array.isArray(found?.conditions) &&
      found.conditions.every((text) => typeof text === 'string') &&
      Array.isArray(found.tables)
    return isWhole ? found : undefined
  } catch {
    return undefined // reported as a fault
  }
}

function isTable(table: DecisionTable | null, conditionCount: number): boolean {
  if (!Array.isArray(table?.when) || !Array.isArray(table.out)) return false
  const { when, out } = table
  return (
    when.length <= MAX_WHEN &&
    when.every(
      (at, i) => Number.isInteger(at) && at >= 0 && at < conditionCount && at > (when[i - 1] ?? -1),
    ) &&
    out.length === 2 ** when.length &&
    out.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 24)
  )
}

function isTimeZone(zone: unknown): boolean {
  if (typeof zone !== 'string') return false
  // the list has each zone by one name and costs nothing; a format, which knows the other names, takes 9 MB
  if (Intl.supportedValuesOf('timeZone').includes(zone)) return true
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone })
    return true
  } catch {
    return false // reported as a fault
  }
}

function faultOfLinks(graph: Graph, tables: readonly DecisionTable[]): string | undefined {
  const { conditionalLinks = new Uint32Array(0), segmentCount, arcLink } = graph
  if (conditionalLinks.length % CONDITIONAL_LINK !== 0) return 'conditionalLinks has a part of an entry'
  for (let at = 0; at < conditionalLinks.length; at += CONDITIONAL_LINK) {
    const [link = 0, table = 0, ...starts] = conditionalLinks.subarray(at, at + CONDITIONAL_LINK)
    const isAscending = at === 0 || link > conditionalLinks[at - CONDITIONAL_LINK]!
    if (!isAscending || link >= segmentCount * 2 || table >= tables.length)
      return `conditionalLinks[${at}] is ${link}, expected links in ascending order with their tables`
    // an arc out of range reads undefined, which equals no link
    if (!starts.every((arc) => arc === NO_ARC || arcLink[arc] === link))
      return `conditionalLinks[${at}] has arcs of other links than ${link}`
    // a link that is open at some time can be entered then
    const uses = tables[table]!.out.filter((outcome) => (outcome & 0xffff) > 0)
    if (uses.length > 0 && starts.every((arc) => arc === NO_ARC))
      return `conditionalLinks[${at}]: link ${link} has no arc to start from`
  }
  return undefined
}

function faultOfArcs(graph: Graph, tables: readonly DecisionTable[]): string | undefined {
  const { conditionalArcs = new Uint32Array(0), arcCount } = graph
  if (conditionalArcs.length % CONDITIONAL_ARC !== 0) return 'conditionalArcs has a part of an entry'
  for (let at = 0; at < conditionalArcs.length; at += CONDITIONAL_ARC) {
    const arc = conditionalArcs[at]!
    const isAscending = at === 0 || arc > conditionalArcs[at - CONDITIONAL_ARC]!
    if (!isAscending || arc >= arcCount || conditionalArcs[at + 1]! >= tables.length)
      return `conditionalArcs[${at}] is ${arc}, expected arcs in ascending order with their tables`
  }
  return undefined
}
