import { statSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../config/config.js'
import { messageOf } from '../errors.js'
import { loadGraphFile } from '../files/graph-file-loader.js'
import { type DataLayout, mapFiles } from '../files/layout.js'
import type { Hierarchy } from '../routing/cch/hierarchy.js'
import { mapHierarchy } from '../routing/cch/map-hierarchy.js'
import type { NamedGraph } from '../routing/graph/graph.js'
import { type BaseMaps, createBaseMaps } from './base-maps.js'
import { createMapStates, type MapStates } from './map-states.js'

/** A map that is loaded, with a stamp of its file. */
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

/** A map file that cannot be used, and the reason. */
interface MapFault {
  readonly file: string
  readonly message: string
}

/** Maps that are served. */
export interface Maps {
  /** in the order of their names */
  list(): readonly LoadedMap[]
  /** files that cannot be used */
  faults(): readonly MapFault[]
  /** base maps beside the maps */
  readonly bases: BaseMaps
  /** loads new and changed files and drops those that are gone; unchanged maps are kept */
  reload(): void
}

/**
 * Loads all maps: files of the data directory and those that `routing.maps` names. The name of a map is its
 * file's name without `.graph`; of two files with one name the first wins. A file that cannot be used is
 * listed as a fault.
 */
export function openMaps(config: Config, layout: DataLayout): Maps {
  let maps: LoadedMap[] = []
  let faults: MapFault[] = []
  let loads = 0
  const bases = createBaseMaps()

  const take = (file: string, taken: Map<string, LoadedMap>): void => {
    const name = path.basename(file).replace(/\.graph$/, '')
    const other = taken.get(name)
    if (other !== undefined) throw new Error(`a map with this name is already loaded from ${other.file}`)
    const stamp = stampOf(file)
    const known = maps.find((map) => map.file === file && map.stamp === stamp)
    taken.set(name, known ?? load(name, file, stamp))
  }
  const load = (name: string, file: string, stamp: string): LoadedMap => {
    const graph = loadGraphFile(file, config.routing.maxMapBytes)
    const states = createMapStates(graph)
    return { name, file, stamp, graph, hierarchy: mapHierarchy(graph), generation: ++loads, states }
  }
  const reload = (): void => {
    const taken = new Map<string, LoadedMap>()
    faults = []
    for (const file of [...mapFiles(layout), ...config.routing.maps]) {
      try {
        take(file, taken)
      } catch (error) {
        faults.push({ file, message: messageOf(error) })
      }
    }
    maps = [...taken.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    bases.refresh(maps)
  }
  reload()
  return { list: () => maps, faults: () => faults, bases, reload }
}

/** Returns a stamp that changes with the file: files are replaced by rename, so a new one has a new inode. */
function stampOf(file: string): string {
  const { ino, size, mtimeMs } = statSync(file)
  return `${ino}:${size}:${mtimeMs}`
}
