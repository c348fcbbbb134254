import { prepareArea } from '../../geo/prepared-area.js'
import type { MultiPolygon, Polygon } from '../../geo/types.js'
import { fillWith } from '../arrays/fill-with.js'
import type { StringPool } from '../arrays/string-pool.js'
import { joinNotes, splitNotes } from '../roads/note-text.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import { barrierRules } from './barrier-rules.js'
import { joinPieces } from './chains.js'
import { findJunctions } from './junctions.js'
import { placeSigns } from './link-signs.js'
import { createOutline, type Outline } from './outline.js'
import { cutPieces } from './pieces.js'
import { cutRuns } from './runs.js'
import { makeSegments, type Segments } from './segments.js'
import type { TurnRule } from './turn-rules.js'
import { findRestrictedWays, forceJunctions, resolveRestrictions } from './turn-rules.js'

/** Junctions, segments and turn rules: the map without nodes and arcs. */
export interface RoadNetwork {
  readonly segments: Segments
  readonly rules: readonly TurnRule[]
  /** link → bits of `SIGN` that hold for traffic at its end */
  readonly linkSigns: Uint8Array
  /** rules of barriers that conditions open or close */
  readonly barrierRules: readonly TurnRule[]
  readonly junctionCount: number
  /** junction → 1e-7 degree, and OSM id of its node */
  readonly junctionLngE7: Int32Array
  readonly junctionLatE7: Int32Array
  readonly junctionOsmId: Float64Array
  /** string pool, as `Graph.strings` */
  readonly strings: Uint8Array
  readonly outline: Outline
  /** piece → OSM id of its way; empty unless objects that are left out are listed */
  readonly pieceWayId: Float64Array
}

/**
 * Makes the network of some roads: cuts ways at junctions (`runs`, `pieces`), joins pieces that nothing
 * separates (`chains`), numbers junctions and segments, and translates turn restrictions to links.
 *
 * @param roads its `refs` are overwritten
 * @param area ways without a node inside are left out
 * @param pause called between two long steps
 * @returns undefined when no road is left
 */
export async function makeNetwork(
  roads: RoadData,
  area: Polygon | MultiPolygon | undefined,
  pause: () => Promise<void>,
): Promise<RoadNetwork | undefined> {
  if (area !== undefined) markInside(roads, area)
  const wayOfId = findRestrictedWays(roads)
  const ends = forceJunctions(roads, wayOfId)
  const pieces = cutPieces(roads, cutRuns(roads, area !== undefined))
  if (pieces.count === 0) return undefined
  const chains = joinPieces(roads, pieces)
  const junctions = findJunctions(roads, pieces, chains)
  await pause()
  const outline = createOutline()
  const segments = makeSegments(roads, pieces, chains, junctions, outline)
  const { rules, notes } = resolveRestrictions({ roads, pieces, segments, wayOfId, ends })
  addNotes(segments, roads.strings, notes)
  await pause()
  const { node } = junctions
  return {
    segments,
    rules,
    linkSigns: placeSigns(roads, pieces, segments),
    barrierRules: barrierRules(roads, segments, junctions),
    junctionCount: junctions.count,
    junctionLngE7: fillWith(new Int32Array(node.length), (at) => roads.nodeLngE7[node[at]!]!),
    junctionLatE7: fillWith(new Int32Array(node.length), (at) => roads.nodeLatE7[node[at]!]!),
    junctionOsmId: fillWith(new Float64Array(node.length), (at) => roads.nodeId[node[at]!]!),
    strings: roads.strings.bytes(),
    outline,
    pieceWayId: Float64Array.from(
      { length: roads.tally.isListing ? pieces.count : 0 },
      (_, piece) => roads.wayId[pieces.way[piece]!]!,
    ),
  }
}

/** Marks the nodes inside an area; points on its border count as inside. */
function markInside({ nodeState, nodeLngE7, nodeLatE7 }: RoadData, area: Polygon | MultiPolygon): void {
  const prepared = prepareArea(area)
  for (let node = 0; node < nodeState.length; node++) {
    if (nodeState[node] === 0) continue
    if (prepared.intersectsPoint(nodeLngE7[node]! / 1e7, nodeLatE7[node]! / 1e7)) {
      nodeState[node]! |= NODE_STATE.INSIDE
    }
  }
}

/** Appends notes of turn restrictions to those of the links' own tags. */
function addNotes({ linkNotes }: Segments, strings: StringPool, notes: Map<number, string[]>): void {
  for (const [link, added] of notes) {
    const known = splitNotes(strings.text(linkNotes[link]!))
    linkNotes[link] = strings.add(joinNotes([...known, ...added]))
  }
}
