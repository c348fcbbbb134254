import { flagsOf, speedOf } from '../../routing/graph/conditions.js'
import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Segments } from '../network/segments.js'
import { type Adjacency, linkHead, linkTail } from './adjacency.js'

/**
 * Flags the links that are private at some time and begin where public roads lead to: entering them has a price.
 *
 * Roads that are private, and public ones that they enclose, are one estate, and a route pays where it enters it
 * from outside, not at each gate within. Since the price belongs to the place, a route that could go on along
 * public roads pays for going on along private ones, at its start as well as at its goal.
 *
 * Cost: linear in the links.
 *
 * @param segments of which the enclosed roads are flagged
 */
export function flagPrivateEntrances(segments: Segments, adjacency: Adjacency): void {
  const { linkFlags, lengthMm } = segments
  const isReached = findPublicPlaces(segments, adjacency)
  for (let link = 0; link < linkFlags.length; link++) {
    // a link without length is no part of an answer, so it has no price
    if (isReached[linkTail(segments, link)] === 0 || lengthMm[link >>> 1] === 0) continue
    if (mayBePrivate(segments, link)) linkFlags[link]! |= LINK_FLAG.FROM_PUBLIC
  }
}

/** Junction → 1 where a public road is that is not enclosed, or to where one leads over public roads. */
function findPublicPlaces(segments: Segments, adjacency: Adjacency): Uint8Array {
  const { linkFlags, lengthMm } = segments
  const isReached = new Uint8Array(adjacency.junctionCount)
  const open: number[] = []
  const reach = (junction: number) => {
    if (isReached[junction] === 1) return
    isReached[junction] = 1
    open.push(junction)
  }
  const ends = LINK_FLAG.PRIVATE | LINK_FLAG.ENCLOSED
  for (let link = 0; link < linkFlags.length; link++) {
    if (!adjacency.isOpen(link) || (linkFlags[link]! & ends) !== 0) continue
    reach(linkTail(segments, link))
    reach(linkHead(segments, link))
  }
  for (let junction = open.pop(); junction !== undefined; junction = open.pop()) {
    for (const link of adjacency.linksOut(junction)) {
      const isPublic = (linkFlags[link]! & LINK_FLAG.PRIVATE) === 0
      if (isPublic || lengthMm[link >>> 1] === 0) reach(linkHead(segments, link))
    }
  }
  return isReached
}

function mayBePrivate({ linkFlags, linkSpeed, linkDecisions }: Segments, link: number): boolean {
  const isPrivate = (flags: number) => (flags & LINK_FLAG.PRIVATE) !== 0
  if (linkSpeed[link]! > 0 && isPrivate(linkFlags[link]!)) return true
  const outcomes = linkDecisions.get(link)?.out ?? []
  return outcomes.some((outcome) => speedOf(outcome) > 0 && isPrivate(flagsOf(outcome)))
}
