import type { Hono } from 'hono'
import { AppError } from '../errors.js'
import { documentResponse, respond } from './answer.js'
import { admit, type CallDeps, endSignal, refusingFaults } from './calls.js'
import { namesTag } from './entity-tag.js'
import type { HttpContext, HttpEnv } from './env.js'
import { refuseOtherMethods } from './refuse-methods.js'

/** Place of a tile in the pyramid of a map. */
interface TileAddress {
  map: string
  z: number
  x: number
  y: number
}

interface TileRouteDeps<C> {
  calls: CallDeps<C>
  maxZoom: number
  /** `bytes` is undefined for an empty tile. @throws AppError UNKNOWN_MAP, BUSY, TIME_LIMIT */
  readTile(address: TileAddress, signal: AbortSignal): Promise<{ bytes: Uint8Array | undefined; tag: string }>
  /** facts of a map for its TileJSON. @throws AppError UNKNOWN_MAP */
  describe(map: string): Promise<{ bbox: readonly number[]; attribution: string }>
}

const TILE_PATH = '/tiles/:map/:z/:x/:file'
const TILEJSON_PATH = '/tiles/:map/tiles.json'
/**
 * Time for which a client may use a tile without a request, s; after that its tag shows whether it changed.
 */
const FRESH_S = 300

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
  await admit(c, deps.calls, 'route:read', { allowsBasic: true })
  const requestId = c.get('requestId')
  const { bytes, tag } = await deps.readTile(addressOfTile(c, deps.maxZoom), endSignal(c, deps.calls))
  const etag = `"${tag}"`
  const headers = { ETag: etag, 'Cache-Control': `private, max-age=${FRESH_S}` }
  if (namesTag(c.req.header('if-none-match'), etag)) return respond(requestId, 304, headers, null)
  if (bytes === undefined) return respond(requestId, 204, headers, null)
  const type = { 'Content-Type': 'application/vnd.mapbox-vector-tile' }
  return respond(requestId, 200, { ...headers, ...type }, bytes)
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

/** Reads the address of a tile. @throws AppError NOT_FOUND with the expected form */
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
