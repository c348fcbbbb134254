import { MAX_WHEN } from '../../routing/graph/conditions.js'
import type { Segments } from '../network/segments.js'
import { outcomeWhile } from '../profile/decision.js'
import { linkHead, linkTail } from './adjacency.js'
import { ACCESS, accessOf, outcomesOf } from './link-access.js'
import { findGroup } from './private-roads.js'

/** Facts about roads outside of quarters, and at the times at which least is public. */
export interface Surroundings {
  /** junction → 1 where a road is that is part of the public network at all times */
  readonly isOuter: Uint8Array
  /** junction → 1 where a public road is that is in no quarter */
  readonly isPublic: Uint8Array
  /** Returns true for a junction of private and enclosed roads that meet the public network somewhere. */
  isEstate(junction: number): boolean
}

/** Part of a map in which roads are enclosed, at least at some times: links that touch each other. */
interface Quarter {
  readonly links: number[]
  /** conditions that change what is public in it; undefined = too many, the strictest access holds at all times */
  when: readonly string[] | undefined
  /** states that were looked at, by the conditions that hold */
  readonly states: Map<string, QuarterState>
}

/** State of a quarter while some conditions hold. */
export interface QuarterState {
  readonly enclosed: ReadonlySet<number>
  /** junctions to which public roads lead from outside */
  readonly publicPlaces: ReadonlySet<number>
}

/** Quarters of a map, and the conditions that change them. */
export interface Quarters {
  /** Lists the conditions that decide about a junction; none outside of quarters. */
  whenAt(junction: number): readonly string[]
  /** Returns the state around a junction; undefined outside of quarters. */
  stateAt(junction: number, holds: (condition: string) => boolean): QuarterState | undefined
}

/**
 * Joins links to quarters.
 *
 * Cost: almost linear in the links (union-find); a state is linear in the links of its quarter.
 *
 * @param links that conditions change, or that may be enclosed
 * @param strict link → access where least is public
 */
export function createQuarters(
  segments: Segments,
  links: readonly number[],
  strict: Uint8Array,
  surroundings: Surroundings,
): Quarters {
  const quarters = joinLinks(segments, links, surroundings.isOuter.length)
  return {
    whenAt: (junction) => quarters(junction)?.when ?? [],
    stateAt(junction, holds) {
      const quarter = quarters(junction)
      if (quarter === undefined) return undefined
      const { when, states } = quarter
      const key = when?.map((condition) => (holds(condition) ? '1' : '0')).join('') ?? ''
      let state = states.get(key)
      if (state === undefined) {
        const accessNow = (link: number) =>
          when === undefined ? strict[link]! : accessOf(outcomeWhile(outcomesOf(segments, link), holds))
        state = findState(segments, quarter.links, accessNow, surroundings)
        states.set(key, state)
      }
      return state
    },
  }
}

/** Returns a function that tells the quarter of a junction. */
function joinLinks(
  segments: Segments,
  links: readonly number[],
  junctionCount: number,
): (junction: number) => Quarter | undefined {
  const groupOf = Int32Array.from({ length: junctionCount }, (_, junction) => junction)
  for (const link of links)
    groupOf[findGroup(groupOf, linkTail(segments, link))] = findGroup(groupOf, linkHead(segments, link))
  const quarters = new Map<number, Quarter>()
  for (const link of links) {
    const group = findGroup(groupOf, linkTail(segments, link))
    const quarter: Quarter = quarters.get(group) ?? { links: [], when: [], states: new Map() }
    quarters.set(group, quarter)
    quarter.links.push(link)
    if (quarter.when === undefined) continue
    const when = new Set([...quarter.when, ...outcomesOf(segments, link).when])
    quarter.when = when.size > MAX_WHEN ? undefined : [...when]
  }
  return (junction) => quarters.get(findGroup(groupOf, junction))
}

function findState(
  segments: Segments,
  links: readonly number[],
  accessNow: (link: number) => number,
  { isOuter, isPublic, isEstate }: Surroundings,
): QuarterState {
  const tailOf = (link: number) => linkTail(segments, link)
  const headOf = (link: number) => linkHead(segments, link)
  const open = links.filter((link) => accessNow(link) === ACCESS.public)
  const ends = [...new Set(open.flatMap((link) => [tailOf(link), headOf(link)]))]
  const doors = ends.filter((junction) => isOuter[junction] === 1)
  const reached = flood(open, tailOf, headOf, doors)
  const reaches = flood(open, headOf, tailOf, doors)
  const enclosed = new Set(
    open.filter((link) => {
      const isOuterNow = reached.has(tailOf(link)) && reaches.has(headOf(link))
      return !isOuterNow && (isEstate(tailOf(link)) || isEstate(headOf(link)))
    }),
  )
  const streets = open.filter((link) => !enclosed.has(link))
  const places = [
    ...links.flatMap((link) => [tailOf(link), headOf(link)]).filter((junction) => isPublic[junction] === 1),
    ...streets.flatMap((link) => [tailOf(link), headOf(link)]),
  ]
  // a link without length is no part of an answer: what lies behind it lies before it
  const passed = links.filter(
    (link) => segments.lengthMm[link >>> 1] === 0 && accessNow(link) === ACCESS.private,
  )
  return { enclosed, publicPlaces: flood([...open, ...passed], tailOf, headOf, places) }
}

/** Finds the junctions to which links lead from some of them, these included. */
function flood(
  links: readonly number[],
  from: (link: number) => number,
  to: (link: number) => number,
  starts: readonly number[],
): Set<number> {
  const onward = Map.groupBy(links, from)
  const found = new Set(starts)
  const open = [...found]
  for (let junction = open.pop(); junction !== undefined; junction = open.pop()) {
    for (const link of onward.get(junction) ?? []) {
      if (found.has(to(link))) continue
      found.add(to(link))
      open.push(to(link))
    }
  }
  return found
}
