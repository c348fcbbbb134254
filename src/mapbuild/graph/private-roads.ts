import { flagsOf } from '../../routing/graph/conditions.js'
import { ENDS_ONLY } from '../../routing/graph/graph.js'
import { mayOpen, type Segments } from '../network/segments.js'
import { linkHead, linkTail } from './adjacency.js'

const NONE = -1
const SEVERAL = -2

/**
 * Finds the private links, and public ones that they enclose, that could be part of a route through them at
 * some time.
 *
 * A group of connected private roads that meets public ones at a single junction is a dead end: no route
 * passes through, so it needs no nodes of its own. Most private roads are such drives. The exceptions are a
 * junction with a turn restriction, which turning round in the drive could bypass, and one with prices of
 * turns, which a drive with a loop could save.
 *
 * Cost: almost linear in the links (union-find).
 *
 * @param isRestricted junctions with a turn rule, and where the drive has a loop, with prices of turns
 * @returns link → 1 where it must be treated as private
 */
export function findPrivateThroughRoads(
  segments: Segments,
  junctionCount: number,
  isRestricted: (junction: number, hasLoop: boolean) => boolean,
): Uint8Array {
  const { linkSpeed, linkFlags, linkDecisions } = segments
  const isEndsOnly = (link: number) => (linkFlags[link]! & ENDS_ONLY) !== 0
  const usual = findThroughRoads(segments, junctionCount, isRestricted, {
    isOpen: (link) => linkSpeed[link]! > 0,
    isEndsOnly,
  })
  if (linkDecisions.size === 0) return usual
  // the same with all that conditions open, and all that they make private
  const isPrivateAtTimes = (link: number) =>
    linkDecisions.get(link)?.out.some((outcome) => (flagsOf(outcome) & ENDS_ONLY) !== 0) === true
  const widest = findThroughRoads(segments, junctionCount, isRestricted, {
    isOpen: (link) => mayOpen(segments, link),
    isEndsOnly: (link) => isEndsOnly(link) || isPrivateAtTimes(link),
  })
  return usual.map((isPrivate, link) => isPrivate | widest[link]!)
}

/** State of the links at one time. */
interface Access {
  isOpen(link: number): boolean
  isEndsOnly(link: number): boolean
}

function findThroughRoads(
  segments: Segments,
  junctionCount: number,
  isRestricted: (junction: number, hasLoop: boolean) => boolean,
  { isOpen, isEndsOnly }: Access,
): Uint8Array {
  const linkCount = segments.count * 2
  const isPrivate = new Uint8Array(linkCount)
  const touchesPublic = new Uint8Array(junctionCount)
  const groupOf = Int32Array.from({ length: junctionCount }, (_, junction) => junction)
  const onLoop: number[] = [] // a junction of each loop
  for (let link = 0; link < linkCount; link++) {
    if (!isOpen(link)) continue
    const tail = linkTail(segments, link)
    const head = linkHead(segments, link)
    if (!isEndsOnly(link)) {
      touchesPublic[tail] = 1
      touchesPublic[head] = 1
    } else {
      const isSecond = isPrivate[link ^ 1] === 1
      isPrivate[link] = 1
      const [from, to] = [findGroup(groupOf, tail), findGroup(groupOf, head)]
      if (from === to && !isSecond) onLoop.push(tail)
      groupOf[from] = to
    }
  }
  const doors = findDoors(groupOf, touchesPublic)
  const loops = new Set(onLoop.map((junction) => findGroup(groupOf, junction)))
  for (let link = 0; link < linkCount; link++) {
    if (isPrivate[link] === 0) continue
    const group = findGroup(groupOf, linkTail(segments, link))
    const door = doors[group]!
    if (door === NONE || (door !== SEVERAL && !isRestricted(door, loops.has(group)))) isPrivate[link] = 0
  }
  return isPrivate
}

/** Group → its only junction with public roads, `NONE`, or `SEVERAL`. */
function findDoors(groupOf: Int32Array, touchesPublic: Uint8Array): Int32Array {
  const doors = new Int32Array(groupOf.length).fill(NONE)
  for (let junction = 0; junction < groupOf.length; junction++) {
    if (touchesPublic[junction] === 0) continue
    const group = findGroup(groupOf, junction)
    doors[group] = doors[group] === NONE ? junction : SEVERAL
  }
  return doors
}

/**
 * Returns the group of a junction, with path halving.
 *
 * @see R. E. Tarjan, "Efficiency of a good but not linear set union algorithm", 1975
 */
export function findGroup(groupOf: Int32Array, junction: number): number {
  let at = junction
  while (groupOf[at] !== at) {
    groupOf[at] = groupOf[groupOf[at]!]!
    at = groupOf[at]!
  }
  return at
}
