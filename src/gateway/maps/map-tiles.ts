import type { Hono } from 'hono'
import { BASE_MAX_ZOOM } from '../../basemap/format.js'
import type { Config } from '../../config/config.js'
import { AppError } from '../../errors.js'
import type { CallDeps } from '../../http/calls.js'
import type { HttpEnv } from '../../http/env.js'
import { addBaseTileRoutes } from '../../http/tiles/base-tile-routes.js'
import { addTileRoutes } from '../../http/tiles/tile-routes.js'
import type { MadeTile, TileRequest } from '../../route-engine/tiles.js'
import { MAX_ZOOM } from '../../tiles/road-tile.js'
import type { WorkerClient } from '../../worker/client.js'

/** A map in the answer of the search worker's call `maps`. */
interface ListedMap {
  name: string
  bbox: number[]
  attribution: string
}

/** Answer of the search worker's call `baseTile`. */
interface PackedTile {
  packed: Uint8Array | undefined
  tag: string
}

/** Answer of the search worker's call `baseFacts`. */
interface BaseFacts {
  minZoom: number
  maxZoom: number
  bbox: number[]
  attribution: string
  layers: object[]
}

/** Adds the routes of vector tiles, which the search worker makes because it holds the maps. */
export function addMapTiles<C>(
  app: Hono<HttpEnv>,
  calls: CallDeps<C>,
  searcher: WorkerClient,
  { timeLimitMs }: Config['routing'],
): void {
  addTileRoutes(app, {
    calls,
    maxZoom: MAX_ZOOM,
    readTile: (address: TileRequest, owner, signal) =>
      searcher.call<MadeTile>('tile', address, { owner, signal, timeLimitMs }),
    async describe(name) {
      const { maps } = JSON.parse(await searcher.call<string>('maps', null)) as { maps: ListedMap[] }
      const map = maps.find((each) => each.name === name)
      if (map !== undefined) return map
      const known = maps.map((each) => each.name)
      const message = `Found map ${JSON.stringify(name.slice(0, 100))}, expected one of ${known.join(', ')}`
      throw new AppError('UNKNOWN_MAP', { map: name, known }, { message })
    },
  })
  addBaseTileRoutes(app, {
    calls,
    maxZoom: BASE_MAX_ZOOM,
    readTile: (address: TileRequest, signal) =>
      searcher.call<PackedTile>('baseTile', address, { signal, timeLimitMs }),
    describe: (name) => searcher.call<BaseFacts>('baseFacts', name, { timeLimitMs }),
  })
}
