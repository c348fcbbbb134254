import { createHash } from 'node:crypto'
import { chooseMap } from '../routing/graph/places.js'
import { createByteCache } from '../routing/search/byte-cache.js'
import { roadTile } from '../tiles/road-tile.js'
import type { Work } from '../worker/host.js'
import { inTurns } from './in-turns.js'
import type { Maps } from './maps.js'

export interface TileRequest {
  readonly map: string
  readonly z: number
  readonly x: number
  readonly y: number
}

/** A tile that is ready to send. */
export interface MadeTile {
  /** undefined = no road is there */
  readonly bytes: Uint8Array | undefined
  /** the same bytes have the same tag */
  readonly tag: string
}

/** What an entry costs beside its bytes. */
const ENTRY_BYTES = 200
const EMPTY: MadeTile = { bytes: undefined, tag: 'empty' }

/**
 * Makes vector tiles of the maps, and keeps them while they fit.
 *
 * @returns a handler of the search worker. @throws AppError UNKNOWN_MAP
 */
export function createTileMaker(
  maps: Maps,
  cacheBytes: number,
): (request: TileRequest, work: Pick<Work, 'cancel'>) => Promise<MadeTile> {
  const cache = createByteCache<MadeTile>(cacheBytes)
  return async ({ map: name, z, x, y }, work) => {
    const map = chooseMap(maps.list(), name, [])
    const key = `${map.generation}/${z}/${x}/${y}`
    const known = cache.get(key)
    if (known !== undefined) return known
    const bytes = await inTurns(roadTile(map.graph, { z, x, y }), work)
    const made = bytes === undefined ? EMPTY : { bytes, tag: tagOf(bytes) }
    cache.set(key, made, (bytes?.length ?? 0) + ENTRY_BYTES)
    return made
  }
}

function tagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}
