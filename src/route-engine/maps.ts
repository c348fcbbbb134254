import { statSync } from 'node:fs'
import { totalmem } from 'node:os'
import path from 'node:path'
import type { Config } from '../config/config.js'
import { AppError, messageOf } from '../errors.js'
import { loadGraphFile } from '../files/graph-file-loader.js'
import { type DataLayout, mapFiles } from '../files/layout.js'
import { mapInfo } from '../route-answer/map-info.js'
import type { Hierarchy } from '../routing/cch/hierarchy.js'
import { mapHierarchy } from '../routing/cch/map-hierarchy.js'
import type { GraphMeta, NamedGraph } from '../routing/graph/graph.js'
import { CACHE_BYTES } from '../routing/graph/paged.js'
import { type BaseMaps, createBaseMaps } from './base-maps.js'
import { createMapStates, type MapStates } from './map-states.js'

/** A map that is in memory, with a stamp of its file. */
export interface LoadedMap extends NamedGraph {
  readonly file: string
  readonly stamp: string
  /** different for every load: results computed for an older graph of that name are invalid */
  readonly generation: number
  /** undefined where the file has no contraction order: searches run on layer 1 */
  readonly hierarchy: Hierarchy | undefined
  /** the map under the conditions of its roads, at an instant and for a vehicle */
  readonly states: MapStates
}

/** A map that is served: in memory, or on disk until it is asked for. */
export interface ServedMap {
  readonly name: string
  readonly file: string
  readonly meta: GraphMeta
  /** size of its file */
  readonly bytes: number
  /** description in wire names */
  readonly info: Record<string, unknown>
  /**
   * Returns the map in memory. One that is not there is loaded, for which those used least recently make room:
   * 10 ms for a city, 0.8 s for 200 MB.
   *
   * @throws AppError UNKNOWN_MAP when its file cannot be used any more
   */
  open(): LoadedMap
  /** Returns the map if it is in memory. */
  loaded(): LoadedMap | undefined
}

/** A map file that cannot be used, and the reason. */
interface MapFault {
  readonly file: string
  readonly message: string
}

/** Functions that are called when maps come into memory, and leave it. */
interface MapHooks {
  onLoad(map: LoadedMap): void
  onDrop(map: LoadedMap): void
}

/** Maps that are served. */
export interface Maps {
  /** in the order of their names */
  list(): readonly ServedMap[]
  /** files that cannot be used */
  faults(): readonly MapFault[]
  /** base maps beside the maps */
  readonly bases: BaseMaps
  /** loads new and changed files and drops those that are gone; unchanged maps are kept */
  reload(): void
  /** calls `onLoad` for the maps that are in memory, and for those that will be */
  watch(hooks: MapHooks): void
}

/**
 * Serves all maps: files of the data directory and those that `routing.maps` names. The name of a map is its
 * file's name without `.graph`; of two files with one name the first wins. Each file is loaded once, to check
 * it; one that cannot be used is listed as a fault. Those in memory have at most `routing.maxMapBytes` together.
 */
export function openMaps(config: Config, layout: DataLayout): Maps {
  const { maxMapBytes, mapPageBytes = usualPageBytes() } = config.routing
  const shelf = createShelf(maxMapBytes, mapPageBytes)
  let maps: Served[] = []
  let faults: MapFault[] = []
  const bases = createBaseMaps()

  const take = (file: string, taken: Map<string, Served>): void => {
    const name = path.basename(file).replace(/\.graph$/, '')
    const other = taken.get(name)
    if (other !== undefined) throw new Error(`a map with this name is already loaded from ${other.file}`)
    const stamp = stampOf(file)
    const known = maps.find((map) => map.file === file && map.stamp === stamp)
    taken.set(name, known ?? serve(name, file))
  }
  const serve = (name: string, file: string): Served => {
    const first = shelf.load(name, file)
    const { bytes, stamp } = first
    let { map } = first
    const { meta } = map.graph
    const info = mapInfo(map)
    return {
      ...{ name, file, stamp, meta, bytes, info },
      loaded: () => (shelf.has(map) ? map : undefined),
      open() {
        if (shelf.use(map)) return map
        try {
          // a file that was replaced is another map, with another area: `reload` takes it
          if (stampOf(file) !== stamp) throw new Error('the file was changed, and is not loaded yet')
          map = shelf.load(name, file).map
        } catch (error) {
          const message = `The map ${JSON.stringify(name)} cannot be loaded: ${messageOf(error)}`
          throw new AppError('UNKNOWN_MAP', { map: name }, { message, cause: error })
        }
        return map
      },
    }
  }
  const reload = (): void => {
    const taken = new Map<string, Served>()
    faults = []
    for (const file of [...mapFiles(layout), ...config.routing.maps]) {
      try {
        take(file, taken)
      } catch (error) {
        faults.push({ file, message: messageOf(error) })
      }
    }
    const before = maps
    maps = [...taken.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const map of before) if (!maps.includes(map)) shelf.drop(map.loaded())
    bases.refresh(maps)
  }
  reload()
  return { list: () => maps, faults: () => faults, bases, reload, watch: shelf.watch }
}

interface Served extends ServedMap {
  readonly stamp: string
}

/** Share of memory for the pages of a map: 16 MiB on a board of 1 GB, where each of them is missed elsewhere. */
const PAGE_SHARE = 1 / 64
/** The same of what a control group allows, which is for this program alone: 64 MiB by the unit of the package. */
const GROUP_SHARE = 1 / 8

/** Returns the memory for pages of each map on this machine. */
function usualPageBytes(): number {
  // 0 or more than there is: no limit
  const allowedBytes = process.constrainedMemory() || Number.POSITIVE_INFINITY
  return Math.max(CACHE_BYTES, Math.min(totalmem() * PAGE_SHARE, allowedBytes * GROUP_SHARE))
}

/** Maps in memory, the least recently used first. */
interface Shelf {
  /** Loads a file. @throws AppError BAD_MAP_FILE, errors of the file system */
  load(name: string, file: string): { map: LoadedMap; bytes: number; stamp: string }
  has(map: LoadedMap): boolean
  /** Notes the use of a map. @returns false when it is not in memory */
  use(map: LoadedMap): boolean
  drop(map: LoadedMap | undefined): void
  watch(hooks: MapHooks): void
}

function createShelf(maxBytes: number, pageBytes: number): Shelf {
  const inMemory = new Set<LoadedMap>()
  let hooks: MapHooks | undefined
  let loads = 0
  const heldBytes = () => [...inMemory].reduce((sum, { graph }) => sum + graph.fileBytes, 0)
  const drop = (map: LoadedMap | undefined) => {
    if (map !== undefined && inMemory.delete(map)) hooks?.onDrop(map)
  }
  return {
    load(name, file) {
      const stamp = stampOf(file)
      const { size } = statSync(file)
      // before it is read, so that both are never in memory; a file that is too large moves none away
      for (const oldest of inMemory) {
        if (size > maxBytes || heldBytes() + size <= maxBytes) break
        drop(oldest)
      }
      const graph = loadGraphFile(file, maxBytes, pageBytes)
      const states = createMapStates(graph)
      const hierarchy = mapHierarchy(graph)
      const map = { name, file, stamp, graph, hierarchy, generation: ++loads, states }
      inMemory.add(map)
      hooks?.onLoad(map)
      return { map, bytes: graph.fileBytes, stamp }
    },
    has: (map) => inMemory.has(map),
    use(map) {
      if (!inMemory.delete(map)) return false
      inMemory.add(map)
      return true
    },
    drop,
    watch(given) {
      hooks = given
      for (const map of inMemory) given.onLoad(map)
    },
  }
}

/** Returns a stamp that changes with the file: files are replaced by rename, so a new one has a new inode. */
function stampOf(file: string): string {
  const { ino, size, mtimeMs } = statSync(file)
  return `${ino}:${size}:${mtimeMs}`
}
