import { statSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../config.js'
import { messageOf } from '../errors.js'
import { loadGraphFile } from '../files/graph-file-loader.js'
import { type DataLayout, mapFiles } from '../files/layout.js'
import type { Hierarchy } from '../routing/cch/hierarchy.js'
import { mapHierarchy } from '../routing/cch/map-hierarchy.js'
import type { NamedGraph } from '../routing/graph/places.js'

/** A map that is loaded, and how to tell whether its file has changed since. */
export interface LoadedMap extends NamedGraph {
  readonly file: string
  readonly stamp: string
  /** differs for every load: what was computed for an older graph of that name is void */
  readonly generation: number
  /** for fast searches; undefined where the file has no order for it */
  readonly hierarchy: Hierarchy | undefined
}

export interface MapFault {
  readonly file: string
  readonly message: string
}

export interface Maps {
  /** in the order of their names */
  list(): readonly LoadedMap[]
  /** files that could not be used, and why */
  faults(): readonly MapFault[]
  /** takes in new and changed files, lets go of those that are gone; unchanged ones are kept as they are */
  reload(): void
}

/**
 * Loads every map file that is served: those of the data directory and those that `routing.maps` names. A map's name is
 * its file's, without `.graph`; of two files of one name the first counts. A file that cannot be used is left out.
 */
export function openMaps(config: Config, layout: DataLayout): Maps {
  let maps: LoadedMap[] = []
  let faults: MapFault[] = []
  let loads = 0

  const take = (file: string, taken: Map<string, LoadedMap>): void => {
    const name = path.basename(file).replace(/\.graph$/, '')
    const other = taken.get(name)
    if (other !== undefined) throw new Error(`a map of the same name is served from ${other.file}`)
    const stamp = stampOf(file)
    const known = maps.find((map) => map.file === file && map.stamp === stamp)
    taken.set(name, known ?? load(name, file, stamp))
  }
  const load = (name: string, file: string, stamp: string): LoadedMap => {
    const graph = loadGraphFile(file, config.routing.maxMapBytes)
    return { name, file, stamp, graph, hierarchy: mapHierarchy(graph), generation: ++loads }
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
  }
  reload()
  return { list: () => maps, faults: () => faults, reload }
}

/** Files are replaced by rename, so a new one has a new inode. */
function stampOf(file: string): string {
  const { ino, size, mtimeMs } = statSync(file)
  return `${ino}:${size}:${mtimeMs}`
}
