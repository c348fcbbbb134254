import { AppError } from '../../errors.js'
import type { HeaderRecord } from '../answer.js'
import type { HttpContext } from '../env.js'

/** Place of a tile in the pyramid of a map. */
export interface TileAddress {
  map: string
  z: number
  x: number
  y: number
}

/**
 * Time for which a client may use a tile without a request, s; after that its tag shows whether it changed.
 */
const FRESH_S = 300

export const TILE_TYPE = { 'Content-Type': 'application/vnd.mapbox-vector-tile' }

/** Headers of a tile, also of an empty one. */
export function tileHeaders(etag: string): HeaderRecord {
  return { ETag: etag, 'Cache-Control': `private, max-age=${FRESH_S}` }
}

/**
 * Reads the address of a tile.
 *
 * @param folder between the map and the zoom in the path, with a slash; empty for none
 * @throws AppError NOT_FOUND with the expected form
 */
export function addressOfTile(c: HttpContext, maxZoom: number, folder = ''): TileAddress {
  const zoomText = c.req.param('z') ?? ''
  const column = c.req.param('x') ?? ''
  const row = /^(\d{1,10})\.(?:mvt|pbf)$/.exec(c.req.param('file') ?? '')?.[1]
  const z = /^\d{1,2}$/.test(zoomText) ? Number(zoomText) : Number.NaN
  const x = /^\d{1,10}$/.test(column) ? Number(column) : Number.NaN
  const y = row === undefined ? Number.NaN : Number(row)
  if (z <= maxZoom && x < 2 ** z && y < 2 ** z) return { map: c.req.param('map') ?? '', z, x, y }
  const message = `Found the tile ${c.req.path.slice(0, 200)}, expected /tiles/<map>/${folder}<z>/<x>/<y>.mvt with z from 0 to ${maxZoom}, x and y from 0 to 2^z - 1`
  throw new AppError('NOT_FOUND', { maxZoom }, { message })
}
