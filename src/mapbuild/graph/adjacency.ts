import { mayOpen, type Segments } from '../network/segments.js'

/** Links that leave each junction. */
export interface Adjacency {
  readonly junctionCount: number
  /** junction → its open links are `links[first[junction] … first[junction + 1])`, ascending */
  readonly first: Uint32Array
  readonly links: Uint32Array
  /** Returns the open links that leave a junction, as a view. */
  linksOut(junction: number): Uint32Array
  /** Returns the number of segment ends at a junction; a loop counts twice. */
  degree(junction: number): number
  /** Returns true when a link may be driven. */
  isOpen(link: number): boolean
}

/** Returns the junction that a link leads to. */
export function linkHead({ tail, head }: Segments, link: number): number {
  return (link & 1) === 0 ? head[link >>> 1]! : tail[link >>> 1]!
}

/** Returns the junction that a link comes from. */
export function linkTail(segments: Segments, link: number): number {
  return linkHead(segments, link ^ 1)
}

/**
 * Builds the adjacency by counting sort, linear in the links.
 *
 * @param isOpen link → true where it counts as open; by default while no condition holds
 */
export function buildAdjacency(
  segments: Segments,
  junctionCount: number,
  isOpen = (link: number) => segments.linkSpeed[link]! > 0,
): Adjacency {
  const linkCount = segments.count * 2
  const degree = new Uint32Array(junctionCount)
  const first = new Uint32Array(junctionCount + 1)
  for (let link = 0; link < linkCount; link++) {
    const tail = linkTail(segments, link)
    degree[tail]!++
    if (isOpen(link)) first[tail + 1]!++
  }
  for (let junction = 0; junction < junctionCount; junction++) first[junction + 1]! += first[junction]!
  const links = new Uint32Array(first[junctionCount]!)
  const at = first.slice()
  for (let link = 0; link < linkCount; link++) {
    if (isOpen(link)) links[at[linkTail(segments, link)]!++] = link
  }
  return {
    junctionCount,
    first,
    links,
    linksOut: (junction) => links.subarray(first[junction]!, first[junction + 1]!),
    degree: (junction) => degree[junction]!,
    isOpen,
  }
}

/** Builds the adjacency of the links that are open at any time; the given one where conditions open none. */
export function widestAdjacency(segments: Segments, usual: Adjacency): Adjacency {
  const isWider = [...segments.linkDecisions.keys()].some(
    (link) => !usual.isOpen(link) && mayOpen(segments, link),
  )
  if (!isWider) return usual
  return buildAdjacency(segments, usual.junctionCount, (link) => mayOpen(segments, link))
}
