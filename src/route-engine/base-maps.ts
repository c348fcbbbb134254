import { statSync } from 'node:fs'
import { AppError, messageOf } from '../errors.js'
import { baseFileOf } from '../files/layout.js'
import type { FoundPlace } from '../storage/base-map/find-places.js'
import { type BaseFile, openBaseFile } from '../storage/base-map/read.js'

/** Base map that is served. */
export interface ServedBase {
  readonly file: string
  readonly stamp: string
  readonly base: BaseFile
}

/** Base maps beside the maps that are served. A file that cannot be used is a fault, and its map is served. */
export interface BaseMaps {
  /** Opens new and changed files, and closes those that are gone. @param maps name and file of each map */
  refresh(maps: readonly { readonly name: string; readonly file: string }[]): void
  /** @returns undefined where the map has none, or one that cannot be used */
  find(map: string): ServedBase | undefined
  faults(): readonly { readonly file: string; readonly message: string }[]
  close(): void
}

/** Creates the shelf of base maps. Without a file it holds nothing. */
export function createBaseMaps(): BaseMaps {
  let open = new Map<string, ServedBase>()
  let faults: { file: string; message: string }[] = []
  return {
    refresh(maps) {
      const next = new Map<string, ServedBase>()
      faults = []
      for (const { name, file: mapFile } of maps) {
        const file = baseFileOf(mapFile)
        const stamp = stampOf(file)
        if (stamp === undefined) continue
        const known = open.get(name)
        try {
          const isKept = known?.file === file && known.stamp === stamp
          next.set(name, isKept ? known : { file, stamp, base: openBaseFile(file) })
        } catch (error) {
          faults.push({ file, message: messageOf(error) })
        }
      }
      for (const [name, each] of open) if (next.get(name) !== each) each.base.close()
      open = next
    },
    find: (map) => open.get(map),
    faults: () => faults,
    close() {
      for (const { base } of open.values()) base.close()
      open = new Map()
    },
  }
}

/** Returns the base map of a map. @throws AppError NO_BASE_MAP */
export function needBase(bases: Pick<BaseMaps, 'find'>, map: string): ServedBase {
  const found = bases.find(map)
  if (found !== undefined) return found
  const message = `Found no base map of the map ${JSON.stringify(map)}; \`fieldgate map build --base\` makes one`
  throw new AppError('NO_BASE_MAP', { map }, { message })
}

/** Describes a base map in wire names, for `routing.list_maps`. */
export function baseInfo({ base }: ServedBase): Record<string, unknown> {
  const { file, sha256, osmTimestamp } = base.meta.builtFrom
  return {
    bytes: base.sizeBytes,
    minzoom: base.minZoom,
    maxzoom: base.maxZoom,
    bbox: base.meta.bbox,
    built_from: { file, sha256, osm_timestamp: osmTimestamp },
    attribution: base.meta.attribution,
  }
}

/** Request for places by name. */
export interface PlacesRequest {
  /** undefined = all maps that have a base map */
  readonly map: string | undefined
  readonly text: string
  readonly limit: number
}

/**
 * Finds places by name, the best first.
 *
 * @param maps names of the maps
 * @returns JSON text of the result of `routing.find_places`
 * @throws AppError NO_BASE_MAP, BAD_BASE_MAP
 */
export function findPlaces(
  bases: BaseMaps,
  maps: readonly string[],
  { map, text, limit }: PlacesRequest,
): string {
  const searched = map === undefined ? maps.filter((name) => bases.find(name) !== undefined) : [map]
  if (searched.length === 0)
    throw new AppError(
      'NO_BASE_MAP',
      {},
      { message: 'Found no map with a base map; `fieldgate map build --base` makes one' },
    )
  const found = searched.flatMap((name) =>
    needBase(bases, name)
      .base.findPlaces(text, limit)
      .map((place) => ({ place, map: name })),
  )
  // the sort is stable: each map's places keep their order
  found.sort((a, b) => a.place.match - b.place.match || a.place.rank - b.place.rank)
  return JSON.stringify({ places: found.slice(0, limit).map((each) => placeInfo(each.place, each.map)) })
}

function placeInfo(place: FoundPlace, map: string): Record<string, unknown> {
  const { name, latin, kind, population, lng, lat, west, south, east, north } = place
  return {
    name,
    name_latin: latin === '' ? null : latin,
    kind,
    population: population === 0 ? null : population,
    lonlat: [lng / 1e7, lat / 1e7],
    bbox: [west / 1e7, south / 1e7, east / 1e7, north / 1e7],
    map,
  }
}

/** Returns a stamp that changes with the file; undefined when there is none. */
function stampOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino}:${found.size}:${found.mtimeMs}`
}
