import { existsSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config/config.js'
import type { DataLayout } from '../../files/layout.js'
import { searchCalls } from '../../route-engine/calls.js'
import { createEngine } from '../../route-engine/engine.js'
import { createFetchedThemes } from '../../route-engine/fetched-themes.js'
import { openMaps } from '../../route-engine/maps.js'
import { createPrefetcher } from '../../route-engine/prefetch.js'
import { createProfiles } from '../../route-engine/profiles.js'
import { openThemes } from '../../route-engine/themes.js'
import { openDataReader } from '../../storage/sqlite/connection/data-db.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { serveWork } from '../../worker/host.js'
import { helperThreads } from './helper-threads.js'
import { yieldToMain } from './priority.js'
import { askThemes } from './theme-port.js'
import { createThemeReader } from './theme-reader.js'

/** Start data of the thread. */
interface SearchWorkerData {
  readonly config: Config
  readonly layout: DataLayout
  /** answers questions about rows of themes, which a hub has in its database */
  readonly themeRows?: MessagePort | undefined
  /** the program's bundle */
  readonly workerEntry: string
}

/**
 * Runs the search worker: all maps, risk overlays and searches are in this thread, so that the gateway keeps
 * answering.
 */
export function runSearchWorker(port: MessagePort, data: SearchWorkerData): void {
  const { config, layout, workerEntry, themeRows } = data
  yieldToMain('search', config)
  offerNativeDir(layout.nativeDir)
  const maps = openMaps(config, layout)
  const helpers = helperThreads(config, workerEntry)
  const openReader = () => {
    if (themeRows !== undefined) return createFetchedThemes(askThemes(themeRows))
    return existsSync(layout.dataDb) ? createThemeReader(openDataReader(layout.dataDb)) : undefined
  }
  const themes = openThemes(config, openReader, helpers?.laying)
  const { riskSlotS } = config.routing
  const prefetcher = createPrefetcher({ maps, themes, slotS: riskSlotS, onFault: rethrowLater })
  const engine = createEngine(helpers?.customising)
  const profiles = createProfiles(config, { themes, engine, prefetcher })
  profiles.serve(maps)
  serveWork(port, searchCalls({ config, maps, themes, profiles, engine }), { isOverlapping: true })
}

/** Ends the thread with an error; the main thread logs it and starts the worker again at the next call. */
function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
