import { localScale } from '../routing/graph/local-scale.js'
import type { OsmData, OsmNode, OsmRelation, OsmWay } from './write-extract.js'

export type TownTags = Readonly<Record<string, string>>

/** Collects the objects of a made-up town, placed in metres east and north of its middle. */
export interface TownBuilder {
  /** @returns OSM id */
  node(eastM: number, northM: number, tags?: TownTags): number
  /** @returns OSM id */
  way(refs: readonly number[], tags: TownTags): number
  /** A turn restriction over one node or one way. */
  restriction(kind: string, from: number, via: { node: number } | { way: number }, to: number): void
  data(): OsmData
}

/** In the Pacific, so that nobody takes the town for a real one. */
const MIDDLE = { lng: 142, lat: 35 }

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

/** A place of the town as longitude and latitude, rounded to 1e-7 degree as OSM has it. */
export function townLngLat(eastM: number, northM: number): [number, number] {
  const { lngM, latM } = localScale(MIDDLE.lat * 1e7)
  return [
    (MIDDLE.lng * 1e7 + Math.round(eastM / lngM)) / 1e7,
    (MIDDLE.lat * 1e7 + Math.round(northM / latM)) / 1e7,
  ]
}

/**
 * Numbers from 0 to 1 that look random and are the same on every machine.
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
