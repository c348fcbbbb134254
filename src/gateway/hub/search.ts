import { MessageChannel } from 'node:worker_threads'
import { createThemeRows } from '../../storage/postgres/table-reads/theme-rows.js'
import type { TablesContext } from '../../storage/postgres/tables/store.js'
import type { WorkerClient } from '../../worker/client.js'
import { createMapLoading, type MapLoading } from '../maps/maps.js'
import type { ServicesOptions } from '../options.js'
import { createSearcher, spawn } from '../threads.js'
import { answerThemes } from '../workers/theme-port.js'

/** Maps of a process of a hub, and searches on them. */
export interface HubSearch {
  /** maps, overlays and searches; started by the first map or search */
  readonly searcher: WorkerClient
  readonly maps: MapLoading
}

/**
 * Opens the search thread over the map files of this process's data directory. Risk is read from the database, by the
 * connections of the main thread.
 */
export function openHubSearch(options: ServicesOptions, context: TablesContext): HubSearch {
  const { config } = options
  const rows = createThemeRows(context, {
    levelColumn: config.riskmap.levelColumn,
    limitMs: config.routing.timeLimitMs,
    nowMs: () => performance.now(),
  })
  const searcher = createSearcher(options, () => {
    const { port1, port2 } = new MessageChannel()
    answerThemes(port1, rows)
    return spawn(options, 'search', {}, port2)
  })
  return { searcher, maps: createMapLoading(options, searcher) }
}
