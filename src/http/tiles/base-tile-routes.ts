import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Hono } from 'hono'
import { documentResponse, respond } from '../answer.js'
import { acceptsGzip } from '../bodies/accepts-gzip.js'
import { namesTag } from '../bodies/entity-tag.js'
import { admit, type CallDeps, endSignal, refusingFaults } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { addressOfTile, TILE_TYPE, type TileAddress, tileHeaders } from './tile-address.js'

/** Facts of a base map for its TileJSON. */
interface BaseFacts {
  readonly minZoom: number
  readonly maxZoom: number
  readonly bbox: readonly number[]
  readonly attribution: string
  readonly layers: readonly object[]
}

interface BaseTileDeps<C> {
  calls: CallDeps<C>
  maxZoom: number
  /** `packed` is gzip, undefined for an empty tile. @throws AppError UNKNOWN_MAP, NO_BASE_MAP, BAD_BASE_MAP */
  readTile(
    address: TileAddress,
    signal: AbortSignal,
  ): Promise<{ packed: Uint8Array | undefined; tag: string }>
  /** @throws AppError UNKNOWN_MAP, NO_BASE_MAP */
  describe(map: string): Promise<BaseFacts>
}

const TILE_PATH = '/tiles/:map/base/:z/:x/:file'
const TILEJSON_PATH = '/tiles/:map/base/tiles.json'

const unpack = promisify(gunzip)

/**
 * Adds `GET /tiles/<map>/base/<z>/<x>/<y>.mvt`, tiles of a base map as they are stored, and
 * `GET /tiles/<map>/base/tiles.json`, their description.
 *
 * @see https://github.com/mapbox/tilejson-spec/tree/master/3.0.0
 */
export function addBaseTileRoutes<C>(app: Hono<HttpEnv>, deps: BaseTileDeps<C>): void {
  app.get(TILEJSON_PATH, (c) => refusingFaults(c, deps.calls, TILEJSON_PATH, () => answerTileJson(c, deps)))
  app.get(TILE_PATH, (c) => refusingFaults(c, deps.calls, TILE_PATH, () => answerTile(c, deps)))
  refuseOtherMethods(app, TILEJSON_PATH, 'GET, HEAD')
  refuseOtherMethods(app, TILE_PATH, 'GET, HEAD')
}

async function answerTile<C>(c: HttpContext, deps: BaseTileDeps<C>): Promise<Response> {
  await admit(c, deps.calls, 'route:read', { allowsBasic: true })
  const requestId = c.get('requestId')
  const { packed, tag } = await deps.readTile(
    addressOfTile(c, deps.maxZoom, 'base/'),
    endSignal(c, deps.calls),
  )
  // stored by gzip: other clients get it unpacked, under a tag of its own
  const isPacked = acceptsGzip(c.req.header('accept-encoding'))
  const etag = isPacked ? `"${tag}-gz"` : `"${tag}"`
  const headers = { ...tileHeaders(etag), Vary: 'Accept-Encoding' }
  if (namesTag(c.req.header('if-none-match'), etag)) return respond(requestId, 304, headers, null)
  if (packed === undefined) return respond(requestId, 204, headers, null)
  if (!isPacked) return respond(requestId, 200, { ...headers, ...TILE_TYPE }, await unpack(packed))
  return respond(requestId, 200, { ...headers, ...TILE_TYPE, 'Content-Encoding': 'gzip' }, packed)
}

async function answerTileJson<C>(c: HttpContext, deps: BaseTileDeps<C>): Promise<Response> {
  await admit(c, deps.calls, 'route:read', { allowsBasic: true })
  const map = c.req.param('map') ?? ''
  const { minZoom, maxZoom, bbox, attribution, layers } = await deps.describe(map)
  const { origin } = new URL(c.req.url)
  const document = {
    tilejson: '3.0.0',
    name: map,
    tiles: [`${origin}/tiles/${encodeURIComponent(map)}/base/{z}/{x}/{y}.mvt`],
    minzoom: minZoom,
    maxzoom: maxZoom,
    bounds: bbox,
    attribution,
    vector_layers: layers,
  }
  return documentResponse(document, c.get('requestId'))
}
