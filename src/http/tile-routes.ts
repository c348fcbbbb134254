import type { Hono } from 'hono'
import { AppError, isAppError } from '../errors.js'
import type { Api } from '../rpc/dispatch.js'
import { refusalResponse } from './answer.js'
import { namesTag } from './entity-tag.js'
import { addressOf, type HttpContext, type HttpEnv } from './env.js'
import { refuseOtherMethods } from './routes.js'
import { callOf, type RpcDeps, requireScope, signIn } from './rpc-routes.js'

/** A tile's place in the pyramid of a map. */
export interface TileAddress {
  map: string
  z: number
  x: number
  y: number
}

export interface TileRouteDeps<C> {
  rpc: RpcDeps<C>
  api: Api<C>
  maxZoom: number
  /** `bytes` undefined = nothing is there. @throws AppError UNKNOWN_MAP, BUSY, TIME_LIMIT */
  readTile(address: TileAddress, signal: AbortSignal): Promise<{ bytes: Uint8Array | undefined; tag: string }>
  /** what a map is, for its TileJSON. @throws AppError UNKNOWN_MAP */
  describe(map: string): Promise<{ bbox: readonly number[]; attribution: string }>
}

const TILE_PATH = '/tiles/:map/:z/:x/:file'
const TILEJSON_PATH = '/tiles/:map/tiles.json'
/** Readers may show a tile for so long without asking; after that its tag tells whether it is still the one. */
const FRESH_S = 300

/**
 * `GET /tiles/<map>/<z>/<x>/<y>.mvt`, vector tiles of a map's roads, and `GET /tiles/<map>/tiles.json`, which tells
 * readers about them.
 *
 * @see https://github.com/mapbox/tilejson-spec/tree/master/3.0.0
 */
export function addTileRoutes<C>(app: Hono<HttpEnv>, deps: TileRouteDeps<C>): void {
  app.get(TILEJSON_PATH, (c) => guarded(c, deps, () => answerTileJson(c, deps)))
  app.get(TILE_PATH, (c) => guarded(c, deps, (signal) => answerTile(c, deps, signal)))
  refuseOtherMethods(app, TILEJSON_PATH, 'GET, HEAD')
  refuseOtherMethods(app, TILE_PATH, 'GET, HEAD')
}

async function guarded<C>(
  c: HttpContext,
  { rpc, api }: TileRouteDeps<C>,
  answer: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  try {
    const caller = await signIn(c, rpc)
    requireScope(callOf(c, api, caller, rpc), 'route:read')
    await rpc.limiter.charge(caller.keyId, addressOf(c), 1)
    return await answer(AbortSignal.any([c.req.raw.signal, rpc.stopSignal]))
  } catch (error) {
    if (!isAppError(error)) rpc.onFault(c.get('requestId'), TILE_PATH, error)
    return refusalResponse(error, c.get('requestId'))
  }
}

async function answerTile<C>(c: HttpContext, deps: TileRouteDeps<C>, signal: AbortSignal): Promise<Response> {
  const { bytes, tag } = await deps.readTile(addressOfTile(c, deps.maxZoom), signal)
  const etag = `"${tag}"`
  const headers = { ETag: etag, 'Cache-Control': `private, max-age=${FRESH_S}` }
  if (namesTag(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers })
  if (bytes === undefined) return new Response(null, { status: 204, headers })
  return new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: {
      ...headers,
      'Content-Type': 'application/vnd.mapbox-vector-tile',
      'Content-Length': String(bytes.length),
    },
  })
}

async function answerTileJson<C>(c: HttpContext, deps: TileRouteDeps<C>): Promise<Response> {
  const map = c.req.param('map') ?? ''
  const { bbox, attribution } = await deps.describe(map)
  const { origin } = new URL(c.req.url)
  return c.json({
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
  })
}

/** @throws AppError NOT_FOUND that says what of the address is wrong */
function addressOfTile(c: HttpContext, maxZoom: number): TileAddress {
  const zoomText = c.req.param('z') ?? ''
  const column = c.req.param('x') ?? ''
  const row = /^(\d{1,10})\.(?:mvt|pbf)$/.exec(c.req.param('file') ?? '')?.[1]
  const z = /^\d{1,2}$/.test(zoomText) ? Number(zoomText) : Number.NaN
  const x = /^\d{1,10}$/.test(column) ? Number(column) : Number.NaN
  const y = row === undefined ? Number.NaN : Number(row)
  if (z <= maxZoom && x < 2 ** z && y < 2 ** z) return { map: c.req.param('map') ?? '', z, x, y }
  const message = `Found the tile ${c.req.path.slice(0, 200)}, expected /tiles/<map>/<z>/<x>/<y>.mvt with z from 0 to ${maxZoom}, x and y from 0 to 2^z - 1`
  throw new AppError('NOT_FOUND', { maxZoom }, { message })
}
