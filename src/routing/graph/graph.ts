import type { Paged, Stored } from './paged.js'

/**
 * Road graph that every search runs on: flat typed arrays. Those that answers read here and there may stay in the
 * map file (`Stored`); searches run on arrays in memory.
 *
 * Three kinds of things, from real to abstract:
 * - a **junction** is a place (an OSM node) where roads meet or end;
 * - a **segment** is an undirected piece of road between two junctions, with length and geometry. Its two
 *   directions are **links**: `link = segment * 2` runs along the geometry, `segment * 2 + 1` against it.
 *   A link's number is `edge_id` on the wire and is stable in a map file;
 * - a **node** is a junction in one turn state (which turn restrictions are in progress, whether private
 *   roads may still be used), and an **arc** is a link driven from one such state to the next. Most junctions
 *   have one node and most links one arc; there are more only where turns are restricted or roads are
 *   private. So turn restrictions and access rules need no special case in any search: they are part of the
 *   graph.
 *
 * A route that starts inside a link continues as `linkStartArc[link]` does; a route may end inside a link on
 * any of its arcs (`linkFirstArc`).
 */
export interface Graph {
  readonly junctionCount: number
  readonly segmentCount: number
  readonly nodeCount: number
  readonly arcCount: number

  /** node → its first arc; `nodeCount + 1` entries. Arcs of a node are sorted by link. */
  readonly firstOut: Uint32Array
  /** arc → node it leads to */
  readonly head: Uint32Array
  /** arc → link that it drives */
  readonly arcLink: Uint32Array
  /** node → its junction */
  readonly nodeJunction: Uint32Array

  readonly junctionLngE7: Int32Array
  readonly junctionLatE7: Int32Array
  /** junction → OSM node id (an integer below 2^53) */
  readonly junctionOsmId: Stored<Float64Array>

  /** segment → junction at the beginning, and at the end, of its geometry */
  readonly segmentTail: Uint32Array
  readonly segmentHead: Uint32Array
  /** segment → length on the WGS 84 ellipsoid, millimetres */
  readonly segmentLengthMm: Uint32Array
  /** segment → offset of its inner points in `geometry`; `segmentCount + 1` entries */
  readonly firstGeometry: Stored<Uint32Array>
  /**
   * inner points (the ends are the junctions): pairs of zigzag varints, dlng then dlat, 1e-7 degree, from the
   * tail on
   */
  readonly geometry: Stored<Uint8Array>
  /** segment → offset in `strings`, 0 = none */
  readonly segmentName: Stored<Uint32Array>

  /** link → speed in 1/10 km/h; 0 = not allowed in this direction. `2 * segmentCount` entries */
  readonly linkSpeed: Uint16Array
  /** link → offset in `strings` of its notes (joined by U+001F), 0 = none */
  readonly linkNotes: Stored<Uint32Array>
  /** link → bits of `LINK_FLAG` */
  readonly linkFlags: Uint8Array
  /**
   * link → arc by which a route that starts inside this link continues, `NO_ARC` where driving is not allowed
   */
  readonly linkStartArc: Uint32Array
  /** link → its arcs are `linkArcs[linkFirstArc[link] … linkFirstArc[link + 1])`, ascending */
  readonly linkFirstArc: Stored<Uint32Array>
  readonly linkArcs: Stored<Uint32Array>

  /**
   * limits of links for the size and weight of vehicles, ascending by link: see `closedToVehicle`. Undefined
   * in files that were built without them
   */
  readonly limits?: Uint32Array | undefined
  /**
   * prices of turns, milliseconds, ascending, the first is 0; `arcTurn`: arc → position of the price of entering
   * its link. Undefined in maps without turn costs
   */
  readonly turnPrices?: Uint32Array | undefined
  readonly arcTurn?: Uint8Array | undefined
  /**
   * conditions of roads and turns, JSON in UTF-8: see `conditionsOf`. The arrays above are those of the time
   * at which none holds. Undefined in files that were built without them
   */
  readonly conditions?: Uint8Array | undefined
  /** links that conditions change, ascending: see `CONDITIONAL_LINK` */
  readonly conditionalLinks?: Uint32Array | undefined
  /** arcs that conditions close, ascending: see `CONDITIONAL_ARC` */
  readonly conditionalArcs?: Uint32Array | undefined
  /** arcs that must not be driven now; not in the file */
  readonly closedArcs?: ReadonlySet<number> | undefined
  /** difference from the graph in which no condition holds, when some do: see `graphWhile`; not in the file */
  readonly changes?: GraphChanges | undefined
  /**
   * node → rank in the contraction order of `routing/cch`, 0 = contracted first. Undefined in files that were
   * built without one
   */
  readonly nodeRank?: Uint32Array | undefined
  /** string pool: u32 byte length (little endian), then UTF-8; offset 0 is the empty string */
  readonly strings: Stored<Uint8Array>
  /** flatbush over the segments' boxes (Int32 lngE7, latE7), position = segment */
  readonly segmentIndex: Stored<Uint8Array>
  /** kdbush over the junctions (Int32 lngE7, latE7), position = junction */
  readonly junctionIndex: Stored<Uint8Array>

  readonly meta: GraphMeta
  /** size of the map file */
  readonly fileBytes: number
}

/** A graph whose arrays are all in memory. */
export type GraphInMemory = { readonly [Name in keyof Graph]: Exclude<Graph[Name], Paged> }

/** Difference of a graph from the one in which no condition holds. */
export interface GraphChanges {
  readonly base: Graph
  /** links of another speed or other flags */
  readonly links: readonly number[]
  /** arcs that are closed in one of the graphs only */
  readonly arcs: readonly number[]
}

/** Name and area of a map. */
export interface MapPlace {
  readonly name: string
  readonly meta: GraphMeta
}

/** A graph under the name of its map file. */
export interface NamedGraph {
  readonly name: string
  readonly graph: Graph
}

/** Value of `linkStartArc` for a link that must not be driven. */
export const NO_ARC = 0xffffffff

/** Bits of `Graph.linkFlags`. */
export const LINK_FLAG = {
  /** can be reached from, and can reach, the main network: snapping prefers it */
  MAIN: 1,
  /** private or destination-only: usable at the ends of a route */
  PRIVATE: 2,
  FERRY: 4,
  ROUNDABOUT: 8,
  /** traffic must not turn round at the end of this link; never set in files of version 0.1.0 */
  NO_U_TURN: 16,
  /** leaves a dead end: who drives it from its beginning on has turned round there */
  AFTER_U_TURN: 32,
  /** public, but reached or left over private roads only */
  ENCLOSED: 64,
  /** begins where public roads lead to: who drives it from its beginning on while it is private pays */
  FROM_PUBLIC: 128,
} as const

/** Flags of links that are for the ends of a route. */
export const ENDS_ONLY = LINK_FLAG.PRIVATE | LINK_FLAG.ENCLOSED

/** Returns true when a link leads straight back over the link before it, where traffic must not turn round. */
export function isBannedUTurn(
  { linkFlags }: Pick<Graph, 'linkFlags'>,
  before: number,
  link: number,
): boolean {
  return (before ^ 1) === link && (linkFlags[before]! & LINK_FLAG.NO_U_TURN) !== 0
}

/** Description of a map in its file, as JSON. */
export interface GraphMeta {
  name: string
  profile: 'car' | 'foot' | 'bicycle'
  /** ISO 3166-1 alpha-2 code whose default speeds were used, null = none */
  country: string | null
  /** IANA time zone of its middle, in which conditions hold; undefined in files that were built without them */
  timeZone?: string
  /** turns that have prices; absent = none */
  turnCosts?: 'none' | 'signs' | 'main' | 'full' | undefined
  builtFrom: { file: string; sha256: string; osmTimestamp: string | null }
  builtBy: string
  attribution: string
  licence: string
  /** GeoJSON Polygon or MultiPolygon: requests for points outside are refused */
  area: { type: 'Polygon' | 'MultiPolygon'; coordinates: number[][][] | number[][][][] }
  /** [west, south, east, north], degrees */
  bbox: [number, number, number, number]
  /** numbers of things found and left out while building, by kind: for `map info` */
  counts: Record<string, number>
}
