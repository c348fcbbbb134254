import type { Hono } from 'hono'
import { documentResponse, respond } from '../answer.js'
import { namesTag } from '../bodies/entity-tag.js'
import { admit, type CallDeps, endSignal, refusingFaults } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { addressOfTile, TILE_TYPE, type TileAddress, tileHeaders } from './tile-address.js'

interface TileRouteDeps<C> {
  calls: CallDeps<C>
  maxZoom: number
  /**
   * `bytes` is undefined for an empty tile.
   *
   * @param owner id of the caller's key
   * @throws AppError UNKNOWN_MAP, BUSY, TIME_LIMIT
   */
  readTile(
    address: TileAddress,
    owner: string,
    signal: AbortSignal,
  ): Promise<{ bytes: Uint8Array | undefined; tag: string }>
  /** facts of a map for its TileJSON. @throws AppError UNKNOWN_MAP */
  describe(map: string): Promise<{ bbox: readonly number[]; attribution: string }>
}

const TILE_PATH = '/tiles/:map/:z/:x/:file'
const TILEJSON_PATH = '/tiles/:map/tiles.json'
/**
 * Adds `GET /tiles/<map>/<z>/<x>/<y>.mvt`, vector tiles of a map's roads, and `GET /tiles/<map>/tiles.json`,
 * their description.
 *
 * @see https://github.com/mapbox/tilejson-spec/tree/master/3.0.0
 */
export function addTileRoutes<C>(app: Hono<HttpEnv>, deps: TileRouteDeps<C>): void {
  app.get(TILEJSON_PATH, (c) => refusingFaults(c, deps.calls, TILEJSON_PATH, () => answerTileJson(c, deps)))
  app.get(TILE_PATH, (c) => refusingFaults(c, deps.calls, TILE_PATH, () => answerTile(c, deps)))
  refuseOtherMethods(app, TILEJSON_PATH, 'GET, HEAD')
  refuseOtherMethods(app, TILE_PATH, 'GET, HEAD')
}

async function answerTile<C>(c: HttpContext, deps: TileRouteDeps<C>): Promise<Response> {
  const { keyId } = await admit(c, deps.calls, 'route:read', { allowsBasic: true })
  const requestId = c.get('requestId')
  const { bytes, tag } = await deps.readTile(addressOfTile(c, deps.maxZoom), keyId, endSignal(c, deps.calls))
  const etag = `"${tag}"`
  const headers = tileHeaders(etag)
  if (namesTag(c.req.header('if-none-match'), etag)) return respond(requestId, 304, headers, null)
  if (bytes === undefined) return respond(requestId, 204, headers, null)
  return respond(requestId, 200, { ...headers, ...TILE_TYPE }, bytes)
}

async function answerTileJson<C>(c: HttpContext, deps: TileRouteDeps<C>): Promise<Response> {
  await admit(c, deps.calls, 'route:read', { allowsBasic: true })
  const map = c.req.param('map') ?? ''
  const { bbox, attribution } = await deps.describe(map)
  const { origin } = new URL(c.req.url)
  const document = {
    tilejson: '3.0.0',
    name: map,
    tiles: [`${origin}/tiles/${encodeURIComponent(map)}/{z}/{x}/{y}.mvt`],
    minzoom: 0,
    maxzoom: deps.maxZoom,
    bounds: bbox,
    attribution,
    vector_layers: [
      {
        id: 'roads',
        fields: { class: 'String', name: 'String', kmh: 'Number', oneway: 'Number', private: 'Boolean' },
      },
    ],
  }
  return documentResponse(document, c.get('requestId'))
}
