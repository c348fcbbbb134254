import { localScale } from '../routing/graph/local-scale.js'
import type { OsmData, OsmNode, OsmRelation, OsmWay } from './write-extract.js'

/** Tags of an object: key → value. */
export type TownTags = Readonly<Record<string, string>>

/** Collector of the objects of a synthetic town, placed in metres east and north of its middle. */
export interface TownBuilder {
  /** Adds a node. @returns OSM id */
  node(eastM: number, northM: number, tags?: TownTags): number
  /** Adds a way. @returns OSM id */
  way(refs: readonly number[], tags: TownTags): number
  /** Adds a turn restriction via a node or a way. */
  restriction(kind: string, from: number, via: { node: number } | { way: number }, to: number): void
  /** Returns all objects, in the order in which they were added. */
  data(): OsmData
}

/** Middle of the town: in the Pacific, so that it cannot be mistaken for a real one. */
const MIDDLE = { lng: 142, lat: 35 }

/** Returns an empty collector. */
export function createTownBuilder(): TownBuilder {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const relations: OsmRelation[] = []
  return {
    node(eastM, northM, tags) {
      const [lng, lat] = townLngLat(eastM, northM)
      const id = nodes.length + 1
      nodes.push({ id, lng, lat, ...(tags === undefined ? {} : { tags }) })
      return id
    },
    way(refs, tags) {
      const id = ways.length + 1
      ways.push({ id, refs, tags })
      return id
    },
    restriction(kind, from, via, to) {
      const middle =
        'node' in via ? ({ type: 'node', id: via.node } as const) : ({ type: 'way', id: via.way } as const)
      relations.push({
        id: relations.length + 1,
        tags: { type: 'restriction', restriction: kind },
        members: [
          { type: 'way', id: from, role: 'from' },
          { ...middle, role: 'via' },
          { type: 'way', id: to, role: 'to' },
        ],
      })
    },
    data: () => ({ nodes, ways, relations }),
  }
}

/** Converts a place of the town to longitude and latitude, rounded to 1e-7 degree like OSM's coordinates. */
export function townLngLat(eastM: number, northM: number): [number, number] {
  const { lngM, latM } = localScale(MIDDLE.lat * 1e7)
  return [
    (MIDDLE.lng * 1e7 + Math.round(eastM / lngM)) / 1e7,
    (MIDDLE.lat * 1e7 + Math.round(northM / latM)) / 1e7,
  ]
}

/**
 * Creates a generator of pseudo-random numbers from 0 to 1, the same on every machine.
 *
 * @see mulberry32, T. Ettinger, 2017 (public domain)
 */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
