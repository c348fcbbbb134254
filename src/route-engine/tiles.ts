import { createHash } from 'node:crypto'
import { roadTile } from '../tiles/road-tile.js'
import type { Work } from '../worker/host.js'
import { createByteCache } from './byte-cache.js'
import { chooseMap } from './locate.js'
import type { Maps } from './maps.js'
import { runSliced } from './run-sliced.js'

/** Address of a vector tile. */
export interface TileRequest {
  readonly map: string
  readonly z: number
  readonly x: number
  readonly y: number
}

/** A finished tile. */
export interface MadeTile {
  /** undefined = no road in the tile */
  readonly bytes: Uint8Array | undefined
  /** equal bytes have equal tags */
  readonly tag: string
}

/** Size of a cache entry beside the tile's bytes. */
const ENTRY_BYTES = 200
const EMPTY: MadeTile = { bytes: undefined, tag: 'empty' }

/**
 * Creates the handler that draws vector tiles of the maps, with a cache of finished tiles.
 *
 * @returns a handler of the search worker, which throws AppError UNKNOWN_MAP
 */
export function createTileMaker(
  maps: Maps,
  cacheBytes: number,
): (request: TileRequest, work: Pick<Work, 'cancel' | 'nextTurn'>) => Promise<MadeTile> {
  const cache = createByteCache<MadeTile>(cacheBytes)
  return async ({ map: name, z, x, y }, work) => {
    const map = chooseMap(maps.list(), name, []).open()
    const key = `${map.generation}/${z}/${x}/${y}`
    const known = cache.get(key)
    if (known !== undefined) return known
    const bytes = await runSliced(roadTile(map.graph, { z, x, y }), work)
    const made = bytes === undefined ? EMPTY : { bytes, tag: tagOf(bytes) }
    cache.set(key, made, (bytes?.length ?? 0) + ENTRY_BYTES)
    return made
  }
}

function tagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}
