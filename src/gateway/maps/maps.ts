import path from 'node:path'
import { mapFiles } from '../../files/layout.js'
import type { WorkerClient } from '../../worker/client.js'
import type { ServicesOptions } from '../options.js'

/** Answer of the search worker's call `reload`. */
interface LoadedMaps {
  maps: string[]
  faults: { file: string; message: string }[]
  /** base maps that cannot be used: their maps are served without */
  baseFaults: { file: string; message: string }[]
}

export interface MapLoading {
  /** scans the map files again; a file that cannot be used is logged and listed in `faults` */
  reload(): Promise<void>
  /** one line for each file that the last scan could not use */
  faults(): readonly string[]
}

/** Has the search worker load the map files, and keeps the faults of the last scan for `/readyz`. */
export function createMapLoading(
  { config, layout, log }: ServicesOptions,
  searcher: WorkerClient,
): MapLoading {
  let lastFaults: readonly string[] = []
  return {
    faults: () => lastFaults,
    async reload() {
      // without a map the thread starts with the first search: it costs a board 10 MB and a tenth of a second
      if (!searcher.wasStarted() && config.routing.maps.length + mapFiles(layout).length === 0) return
      const { maps, faults, baseFaults } = await searcher.call<LoadedMaps>('reload', null, {
        mayHoldThread: true,
      })
      // file names without their folders: `/readyz` needs no key
      lastFaults = faults.map(({ file, message }) => `${path.basename(file)}: ${message}`)
      if (baseFaults.length > 0) log.warn({ baseFaults }, 'some base maps cannot be used')
      if (faults.length === 0) log.info({ maps }, 'maps are loaded')
      else log.warn({ maps, faults }, 'some map files cannot be used')
    },
  }
}
