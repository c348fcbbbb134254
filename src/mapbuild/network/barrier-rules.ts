import type { RoadData } from '../roads/read-roads.js'
import type { Junctions } from './junctions.js'
import { mayOpen, type Segments } from './segments.js'
import type { TurnRule } from './turn-rules.js'

/**
 * Makes the rules of barriers that conditions open or close: while one is closed, no road leads to another
 * over it. Traffic may turn round there.
 */
export function barrierRules({ barriers }: RoadData, segments: Segments, junctions: Junctions): TurnRule[] {
  if (barriers.size === 0) return []
  const linksInto = new Map<number, number[]>()
  for (let junction = 0; junction < junctions.count; junction++) {
    if (barriers.has(junctions.node[junction]!)) linksInto.set(junction, [])
  }
  for (let segment = 0; segment < segments.count; segment++) {
    linksInto.get(segments.head[segment]!)?.push(segment * 2)
    linksInto.get(segments.tail[segment]!)?.push(segment * 2 + 1)
  }
  return [...linksInto].flatMap(([junction, links]) => {
    const decision = barriers.get(junctions.node[junction]!)
    return links.flatMap((from) =>
      links
        .filter((to) => to !== from && mayOpen(segments, from) && mayOpen(segments, to ^ 1))
        .map((to) => ({ kind: 'no' as const, links: [from, to ^ 1], decision })),
    )
  })
}
