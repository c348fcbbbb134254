import { existsSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config.js'
import type { DataLayout } from '../../files/layout.js'
import { createAhead } from '../../route-engine/ahead.js'
import { searchCalls } from '../../route-engine/calls.js'
import { createEngine } from '../../route-engine/engine.js'
import { openMaps } from '../../route-engine/maps.js'
import { openPrices } from '../../route-engine/pricing.js'
import { openThemes } from '../../route-engine/themes.js'
import { openDataReader } from '../../storage/sqlite/connection/data-db.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { serveWork } from '../../worker/host.js'

/** What the main thread hands to this thread at its start. */
export interface SearchWorkerData {
  readonly config: Config
  readonly layout: DataLayout
}

/** The searches' thread: every map, risk overlay and route search lives here, so that the gateway goes on answering. */
export function runSearchWorker(port: MessagePort, { config, layout }: SearchWorkerData): void {
  offerNativeDir(layout.nativeDir)
  const maps = openMaps(config, layout)
  const themes = openThemes(config, () =>
    existsSync(layout.dataDb) ? openDataReader(layout.dataDb) : undefined,
  )
  const ahead = createAhead(maps, themes, config.routing.riskSlotS, rethrowLater)
  const engine = createEngine()
  const prices = openPrices(config, themes, engine, ahead)
  prices.warm(maps.list())
  serveWork(port, searchCalls({ config, maps, themes, prices, engine }), { isOverlapping: true })
}

/** Ends the thread, and so is logged by the main one, which starts it again. */
function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
