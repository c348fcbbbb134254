import { SIGN } from '../profile/turn-signs.js'
import { RANK_BITS } from '../profile/turn-values.js'
import type { RoadData } from '../roads/read-roads.js'
import type { Pieces } from './pieces.js'
import type { Segments } from './segments.js'

/** A link that ends at a node with a sign. */
interface Arrival {
  readonly link: number
  /** true when it runs along the nodes of its way */
  readonly isAlong: boolean
}

/**
 * Finds the signs that hold for the traffic that arrives by a link, at its end. Linear in the pieces.
 *
 * A sign with a direction holds along its way, or against it. Without one, signals, gates and toll booths hold
 * for everybody; a stop or give way sign on the way holds for the traffic whose next junction is nearer than
 * its last one; in the middle of a junction a stop holds for everybody, unless it is for the smaller roads
 * only, and give way for the smaller roads, where there are any.
 *
 * @returns link → bits of `SIGN`, without those of directions
 */
export function placeSigns(roads: RoadData, pieces: Pieces, segments: Segments): Uint8Array {
  const signs = new Uint8Array(segments.count * 2)
  for (const [node, arrivals] of arrivalsAtSigns(roads, pieces, segments)) {
    const sign = roads.nodeSign[node]!
    for (const arrival of arrivals) {
      const always = sign & (SIGN.GATE | SIGN.TOLL)
      const byDirection = sign & (SIGN.SIGNALS | SIGN.STOP | SIGN.GIVE_WAY)
      signs[arrival.link] = always | (holds(segments, sign, arrival, arrivals) ? byDirection : 0)
    }
  }
  return signs
}

/** Node with a sign → the links that end there, closed ones too. */
function arrivalsAtSigns(
  { nodeSign }: RoadData,
  { count, nodes, from, to }: Pieces,
  { pieceLink }: Segments,
): Map<number, Arrival[]> {
  const found = new Map<number, Arrival[]>()
  const add = (node: number, arrival: Arrival) => {
    if (nodeSign[node] === 0) return
    const known = found.get(node)
    if (known === undefined) found.set(node, [arrival])
    else known.push(arrival)
  }
  for (let piece = 0; piece < count; piece++) {
    const link = pieceLink[piece]!
    add(nodes[to[piece]!]!, { link, isAlong: true })
    add(nodes[from[piece]!]!, { link: link ^ 1, isAlong: false })
  }
  return found
}

/** Returns true when signals or a sign hold for an arrival. */
function holds(segments: Segments, sign: number, arrival: Arrival, arrivals: readonly Arrival[]): boolean {
  const { linkSpeed, lengthMm } = segments
  if ((sign & SIGN.FORWARD) !== 0) return arrival.isAlong
  if ((sign & SIGN.BACKWARD) !== 0) return !arrival.isAlong
  if ((sign & SIGN.SIGNALS) !== 0) return true
  const rank = ({ link }: Arrival) => segments.rank[link >>> 1]! & RANK_BITS
  if (arrivals.length > 2) {
    if ((sign & (SIGN.MINOR | SIGN.GIVE_WAY)) === 0) return true
    const ranks = arrivals.map(rank)
    const highest = Math.max(...ranks)
    return rank(arrival) < highest || ranks.every((one) => one === highest)
  }
  const other = arrivals.find(({ link }) => link !== arrival.link)
  // on a one-way road the sign can only be for its traffic
  if (other === undefined || linkSpeed[other.link] === 0) return true
  return lengthMm[other.link >>> 1]! <= lengthMm[arrival.link >>> 1]!
}
