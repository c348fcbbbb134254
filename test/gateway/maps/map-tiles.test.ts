import path from 'node:path'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import t from 'tap'
import { layoutOf, makeDirectories } from '../../../src/files/layout.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { EXTENT, unitX, unitY } from '../../../src/tiles/mercator.js'
import { makeGraph } from '../../support/make-graph.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'
import { town } from '../../support/town.js'

const AT = { z: 14, x: 0, y: 0 }
const TILE = `/tiles/town/14/${Math.floor(unitX(10.002e7, AT) / EXTENT)}/${Math.floor(unitY(50.002e7, AT) / EXTENT)}.mvt`

async function townGateway(t: Parameters<typeof startGateway>[0]) {
  const dataDir = path.join(t.testdir(), 'data')
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  writeGraphFile(path.join(layout.mapsDir, 'town.graph'), makeGraph(town(3)))
  const gateway = await startGateway(t, { dataDir })
  const get = (at: string, headers: Record<string, string> = pairHeaders(gateway.admin)) =>
    fetch(gateway.url + at, { headers })
  return { gateway, get }
}

t.test('tiles: a tile with its entity tag, 304 when unchanged, 204 without roads', async (t) => {
  const { get, gateway } = await townGateway(t)
  const answer = await get(TILE)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'application/vnd.mapbox-vector-tile')
  const tile = new VectorTile(new PbfReader(new Uint8Array(await answer.arrayBuffer())))
  t.equal(tile.layers.roads?.length, 12)
  const etag = answer.headers.get('etag') ?? ''
  const again = await get(TILE, { ...pairHeaders(gateway.admin), 'If-None-Match': etag })
  t.equal(again.status, 304)
  t.equal(again.headers.get('etag'), etag)
  t.equal((await get('/tiles/town/14/0/0.mvt')).status, 204)
})

t.test('tiles: TileJSON names the tiles and the attribution', async (t) => {
  const { get, gateway } = await townGateway(t)
  const found = (await (await get('/tiles/town/tiles.json')).json()) as Record<string, unknown>
  t.match(found, { tilejson: '3.0.0', tiles: [`${gateway.url}/tiles/town/{z}/{x}/{y}.mvt`] })
  t.type(found.attribution, 'string')
})

t.test('tiles: refused requests and their status', async (t) => {
  const { get, gateway } = await townGateway(t)
  const nameOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: { data: { name: string }; message: string } }
    return `${response.status} ${error.data.name}`
  }
  t.equal(await nameOf(await get(TILE, {})), '401 UNAUTHENTICATED')
  t.equal(await nameOf(await get(TILE, pairHeaders(await gateway.makeKey(['loader:read'])))), '403 FORBIDDEN')
  t.equal(await nameOf(await get('/tiles/nowhere/0/0/0.mvt')), '404 UNKNOWN_MAP')
  t.equal(await nameOf(await get('/tiles/nowhere/tiles.json')), '404 UNKNOWN_MAP')
  for (const bad of ['19/0/0.mvt', '1/2/0.mvt', '1/0/2.mvt', 'a/0/0.mvt', '1/0/0.png', '1/-1/0.mvt'])
    t.equal(await nameOf(await get(`/tiles/town/${bad}`)), '404 NOT_FOUND', bad)
})
