import { copyFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { layoutOf, makeDirectories } from '../../../src/files/layout.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { baseOf, createPlot } from '../../support/base-maps.js'
import { makeGraph } from '../../support/make-graph.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'
import { town } from '../../support/town.js'
import { readVectorTile } from '../../support/vector-tiles.js'

const TILE = '/tiles/town/base/6/33/23.mvt'

async function gatewayWithBase(t: Test, change?: (mapsDir: string) => void) {
  const plot = createPlot()
  plot.node(0, 0, { place: 'city', name: 'Prova' })
  const { file } = await baseOf(t, plot.data())
  const dataDir = path.join(t.testdir(), 'data')
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  writeGraphFile(path.join(layout.mapsDir, 'town.graph'), makeGraph(town(3)))
  writeGraphFile(path.join(layout.mapsDir, 'bare.graph'), makeGraph(town(3)))
  copyFileSync(file, path.join(layout.mapsDir, 'town.mbtiles'))
  change?.(layout.mapsDir)
  const gateway = await startGateway(t, { dataDir })
  const get = (at: string, headers: Record<string, string> = pairHeaders(gateway.admin)) =>
    fetch(gateway.url + at, { headers })
  return { gateway, get }
}

/** A request whose answer is not unpacked by the client. */
function rawGet(url: string, headers: Record<string, string>) {
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}

t.test('base tiles: as they are stored, with a tag; unpacked for others; 304, 204', async (t) => {
  const { gateway, get } = await gatewayWithBase(t)
  const headers = pairHeaders(gateway.admin)
  const packed = await rawGet(gateway.url + TILE, { ...headers, 'Accept-Encoding': 'gzip' })
  t.match(packed.headers, {
    'content-encoding': 'gzip',
    'content-type': 'application/vnd.mapbox-vector-tile',
    vary: 'Accept-Encoding',
    etag: /^"[0-9a-f]{24}-gz"$/,
  })
  t.match(readVectorTile(gunzipSync(packed.body)).place_labels, [{ properties: { name: 'Prova' } }])
  const plain = await rawGet(gateway.url + TILE, headers)
  t.equal(plain.headers['content-encoding'], undefined)
  t.not(plain.headers.etag, packed.headers.etag)
  t.same(plain.body, gunzipSync(packed.body))
  const again = await get(TILE, {
    ...headers,
    'Accept-Encoding': 'gzip',
    'If-None-Match': String(packed.headers.etag),
  })
  t.equal(again.status, 304)
  t.equal((await get('/tiles/town/base/6/0/0.mvt')).status, 204)
  t.equal((await get('/tiles/town/14/0/0.mvt')).status, 204, 'roads have their own')
})

t.test('base tiles: TileJSON with the layers', async (t) => {
  const { gateway, get } = await gatewayWithBase(t)
  t.match(await (await get('/tiles/town/base/tiles.json')).json(), {
    tilejson: '3.0.0',
    tiles: [`${gateway.url}/tiles/town/base/{z}/{x}/{y}.mvt`],
    minzoom: 6,
    maxzoom: 14,
    attribution: /OpenStreetMap/,
    vector_layers: [{ id: 'place_labels', fields: { kind: 'String', name: 'String' } }],
  })
})

t.test('base tiles: refused requests and their status', async (t) => {
  const { gateway, get } = await gatewayWithBase(t)
  const nameOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: { data: { name: string } } }
    return `${response.status} ${error.data.name}`
  }
  t.equal(await nameOf(await get(TILE, {})), '401 UNAUTHENTICATED')
  t.equal(await nameOf(await get(TILE, pairHeaders(await gateway.makeKey(['loader:read'])))), '403 FORBIDDEN')
  t.equal(await nameOf(await get('/tiles/nowhere/base/0/0/0.mvt')), '404 UNKNOWN_MAP')
  t.equal(await nameOf(await get('/tiles/bare/base/0/0/0.mvt')), '404 NO_BASE_MAP')
  t.equal(await nameOf(await get('/tiles/bare/base/tiles.json')), '404 NO_BASE_MAP')
  t.equal(await nameOf(await get('/tiles/town/base/15/0/0.mvt')), '404 NOT_FOUND')
  t.equal((await fetch(gateway.url + TILE, { method: 'POST' })).status, 405)
})

t.test('base tiles: a file that cannot be used leaves the gateway ready, and its map served', async (t) => {
  const { gateway, get } = await gatewayWithBase(t, (mapsDir) => {
    writeFileSync(path.join(mapsDir, 'town.mbtiles'), 'no tiles at all')
  })
  t.equal((await fetch(`${gateway.url}/readyz`)).status, 200)
  t.equal((await get('/tiles/town/tiles.json')).status, 200)
  t.equal((await get(TILE)).status, 404)
})
