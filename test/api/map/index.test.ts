import http from 'node:http'
import t from 'tap'
import { boxPolygon } from '../../../src/geo/bbox.js'
import { pairHeaders, startGateway, type TestGateway } from '../../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MAP = '/api/v1/svcapi/jsonrpc'

/** A theme of 400 cells in a row, one hour each, put with the data loader's own methods. */
async function fillTheme(gateway: TestGateway): Promise<void> {
  const registered = await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'riskmap_flood',
    record_def: { risk: { udt_name: 'int2' }, n: { udt_name: 'int4' }, text: { udt_name: 'text' } },
    unique_columns: ['n'],
  })
  if (registered.body.error !== undefined) throw new Error(JSON.stringify(registered.body.error))
  const record_set = Array.from({ length: 400 }, (_, n) => ({
    type: 'Feature',
    geometry: boxPolygon([139 + n / 1000, 35, 139 + (n + 1) / 1000, 35.001]),
    properties: {
      n,
      risk: n % 11,
      text: 'x'.repeat(20_000),
      start_datetime: '2025-06-01 00:00:00+09',
      end_datetime: '2025-06-01 01:00:00+09',
    },
  }))
  const added = await gateway.call(LOADER, 'loaderwebapi.add_record', {
    data_name: 'riskmap_flood',
    record_set,
  })
  if (added.body.result?.count !== 400) throw new Error(JSON.stringify(added.body).slice(0, 500))
}

t.test('mapserv over HTTP: what the data loader stored is read as events and as a risk map', async (t) => {
  const gateway = await startGateway(t)
  await fillTheme(gateway)
  const area = boxPolygon([139.0101, 35.0001, 139.0109, 35.0002])
  const events = await gateway.call(MAP, 'mapserv.eventdata', {
    type: 'Feature',
    geometry: area,
    properties: { table: 'event.riskmap_flood_tbl_0', columns: ['n', 'risk'], conds: { '>': ['risk', 5] } },
  })
  t.same(events.body.result.features[0].properties, { table: 'event.riskmap_flood_tbl_0', n: 10, risk: 10 })
  t.equal(events.body.result.features.length, 1)
  const cells = await gateway.call(MAP, 'mapserv.riskmap', [
    {
      type: 'Feature',
      geometry: area,
      properties: { themes: ['flood'], start_datetime: '2025-06-01 00:30:00' },
    },
  ])
  t.same(cells.body.result, {
    type: 'FeatureCollection',
    name: 'requestExtraRiskmapResponse',
    features: [
      {
        type: 'Feature',
        geometry: boxPolygon([139.01, 35, 139.011, 35.001]),
        properties: { theme: 'flood', datetime: '2025-06-01T00:00:00+09:00', risk: 10 },
      },
    ],
  })
  const other = await gateway.makeKey(['loader:read'])
  const refused = await gateway.call(MAP, 'mapserv.eventdata', {}, pairHeaders(other))
  t.equal(refused.body.error.data.name, 'FORBIDDEN')
})

t.test('mapserv over HTTP: a caller that hangs up in the middle of a long answer stops it', async (t) => {
  const gateway = await startGateway(t, { settings: { limits: { pageRows: 10 } } })
  await fillTheme(gateway)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'mapserv.eventdata',
    params: { type: 'Feature', geometry: null, properties: { table: 'riskmap_flood' } },
  })
  const { port } = new URL(gateway.url)
  await new Promise<void>((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', ...pairHeaders(gateway.admin) }
    const request = http.request(
      { host: '127.0.0.1', port, path: MAP, method: 'POST', headers },
      (response) => {
        response.once('data', () => {
          response.destroy()
          resolve()
        })
      },
    )
    request.once('error', reject)
    request.end(body)
  })
  const after = await gateway.call(MAP, 'mapserv.eventdata', {
    type: 'Feature',
    geometry: null,
    properties: { table: 'riskmap_flood', columns: ['n'] },
  })
  t.equal(after.body.result.features.length, 400, 'the next caller is served')
  t.same(
    gateway.logLines.filter(({ level }) => level === 'error' || level === 50),
    [],
    'a caller that goes away is no fault of the gateway',
  )
})
