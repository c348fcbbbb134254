import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Segments } from '../network/segments.js'
import { type Adjacency, linkHead, linkTail } from './adjacency.js'
import { arcTails, findComponents, reverse, spread } from './components.js'
import { findGroup } from './private-roads.js'

/**
 * Flags public roads that traffic can reach, or leave, over private roads only: streets behind a gate. Like
 * private roads they are for the ends of a route, so that a goal there can be reached over a chain of
 * private and enclosed roads, and nobody passes through.
 *
 * They are the public links that are not on a public way from the public network and back, in a group of such
 * links and private ones that meets the public network somewhere. The public network is the largest set of
 * junctions that all lead to each other over public roads. Turn restrictions are not looked at.
 *
 * Cost: almost linear in the links.
 */
export function flagEnclosedRoads(segments: Segments, adjacency: Adjacency): void {
  const { linkSpeed, linkFlags } = segments
  const isOuter = findOuterLinks(segments, adjacency)
  const groupOf = Int32Array.from({ length: adjacency.junctionCount }, (_, junction) => junction)
  const linkCount = segments.count * 2
  for (let link = 0; link < linkCount; link++) {
    if (linkSpeed[link] === 0 || isOuter[link] === 1) continue
    groupOf[findGroup(groupOf, linkTail(segments, link))] = findGroup(groupOf, linkHead(segments, link))
  }
  // group → whether it has a private link, and whether it meets the public network
  const hasPrivate = new Uint8Array(adjacency.junctionCount)
  const hasDoor = new Uint8Array(adjacency.junctionCount)
  for (let link = 0; link < linkCount; link++) {
    if (linkSpeed[link] === 0) continue
    const group = findGroup(groupOf, linkTail(segments, link))
    if (isOuter[link] === 1) {
      hasDoor[group] = 1
      hasDoor[findGroup(groupOf, linkHead(segments, link))] = 1
    } else if ((linkFlags[link]! & LINK_FLAG.PRIVATE) !== 0) hasPrivate[group] = 1
  }
  for (let link = 0; link < linkCount; link++) {
    const isInner =
      linkSpeed[link]! > 0 && isOuter[link] === 0 && (linkFlags[link]! & LINK_FLAG.PRIVATE) === 0
    if (!isInner) continue
    const group = findGroup(groupOf, linkTail(segments, link))
    if (hasPrivate[group] === 1 && hasDoor[group] === 1) linkFlags[link]! |= LINK_FLAG.ENCLOSED
  }
}

/** Link → 1 when it is public and lies on a public way from the public network and back. */
function findOuterLinks(segments: Segments, { junctionCount, first, links }: Adjacency): Uint8Array {
  const { linkFlags } = segments
  const isPublic = (link: number) => (linkFlags[link]! & LINK_FLAG.PRIVATE) === 0
  const open = links.filter(isPublic)
  const firstOut = new Uint32Array(junctionCount + 1)
  for (let junction = 0; junction < junctionCount; junction++) {
    let count = 0
    for (let at = first[junction]!; at < first[junction + 1]!; at++) if (isPublic(links[at]!)) count++
    firstOut[junction + 1] = firstOut[junction]! + count
  }
  const head = open.map((link) => linkHead(segments, link))
  const graph = { nodeCount: junctionCount, firstOut, head }
  const { component, largest } = findComponents(graph)
  const reached = Uint8Array.from(component, (of) => (of === largest ? 1 : 0))
  const reaches = reached.slice()
  spread(reached, firstOut, head, junctionCount)
  const backwards = reverse(head, arcTails(graph), junctionCount, open.length)
  spread(reaches, backwards.first, backwards.tails, junctionCount)
  const isOuter = new Uint8Array(segments.count * 2)
  for (const link of open) {
    if (reached[linkTail(segments, link)] === 1 && reaches[linkHead(segments, link)] === 1) isOuter[link] = 1
  }
  return isOuter
}
