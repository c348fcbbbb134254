import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const TABLE = '/api/v1/dataloaderapi/export/rain'

/** A gateway with the table `rain`, the dataset `gauges` and its citation `report`. */
async function filledGateway(t: Test) {
  const dataDir = path.join(t.testdir(), 'data')
  const gateway = await startGateway(t, { dataDir })
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { gauge: { udt_name: 'text' }, mm: { udt_name: 'float8', is_nullable: true } },
    unique_columns: ['gauge'],
  })
  const record_set = [1, 2, 3].map((n) => ({
    type: 'Feature',
    geometry: n === 3 ? null : { type: 'Point', coordinates: [139 + n, 35] },
    properties: { gauge: `g,${n}`, mm: n === 2 ? null : n / 2 },
  }))
  await gateway.call(LOADER, 'loaderwebapi.add_record', { data_name: 'rain', record_set })
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'int' },
      { column_name: 'place', data_type: 'geometry(Point,3857)', nullable: true },
    ],
    key_columns: ['id'],
  })
  await gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records: [[1, null]] })
  const cited = await gateway.call(DATASET, 'dataset.citation.create', {
    citation_label: 'report',
    source: 'gauges',
  })
  await gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records: [[2, null]] })
  const get = (at: string, headers = pairHeaders(gateway.admin), method = 'GET') =>
    fetch(gateway.url + at, { headers, method })
  const nameOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: { data: { name: string } } }
    return [response.status, error.data.name]
  }
  return { gateway, get, nameOf, dataDir, citation: cited.body.result.long_form as string }
}

t.test('exports: rows of a table as CSV and GeoJSON, with a condition and an order', async (t) => {
  const { get } = await filledGateway(t)
  const whole = await get(TABLE)
  t.match(whole.headers.get('content-type'), /^text\/csv/)
  t.equal(whole.headers.get('content-disposition'), `attachment; filename*=UTF-8''rain.csv`)
  t.equal(
    await whole.text(),
    'start_datetime,end_datetime,location,gauge,mm\r\n,,POINT (140 35),"g,1",0.5\r\n,,POINT (141 35),"g,2",\r\n,,,"g,3",1.5\r\n',
  )
  const conds = encodeURIComponent(JSON.stringify({ '>': ['mm', 0] }))
  const some = await get(`${TABLE}?format=geojson&conds=${conds}&order=-mm`)
  t.equal(some.headers.get('content-type'), 'application/geo+json')
  t.match(await some.json(), {
    type: 'FeatureCollection',
    features: [
      { geometry: null, properties: { gauge: 'g,3', mm: 1.5 } },
      { geometry: { type: 'Point' }, properties: { gauge: 'g,1', mm: 0.5 } },
    ],
  })
  const head = await get(TABLE, undefined, 'HEAD')
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
})

t.test('exports: a GeoPackage, which leaves no temporary file', async (t) => {
  const { get, dataDir } = await filledGateway(t)
  const answer = await get(`${TABLE}?format=gpkg`)
  t.equal(answer.headers.get('content-type'), 'application/geopackage+sqlite3')
  const bytes = Buffer.from(await answer.arrayBuffer())
  t.equal(answer.headers.get('content-length'), String(bytes.length))
  const file = path.join(dataDir, 'out.gpkg')
  writeFileSync(file, bytes)
  const db = new Database(file, { readonly: true })
  t.same(db.prepare('SELECT gauge, mm FROM rain ORDER BY fid').all(), [
    { gauge: 'g,1', mm: 0.5 },
    { gauge: 'g,2', mm: null },
    { gauge: 'g,3', mm: 1.5 },
  ])
  db.close()
  t.equal((await get(`${TABLE}?format=gpkg`, undefined, 'HEAD')).status, 200)
  const left = () =>
    readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /[0-9a-f-]{36}\.gpkg/.test(name),
    )
  while (left().length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
  t.pass('removed after the last byte')
})

t.test('exports: datasets and citations by their labels', async (t) => {
  const { get, citation, nameOf } = await filledGateway(t)
  const text = async (label: string) => await (await get(`/api/v2/dataset/export/${label}?format=csv`)).text()
  t.equal(await text('gauges'), 'id,place\r\n1,\r\n2,\r\n')
  t.equal(await text(citation), 'id,place\r\n1,\r\n')
  t.match(await text('rain'), /^start_datetime/)
  const refused = await get('/api/v2/dataset/export/gauges?format=geojson')
  t.same(await nameOf(refused), [400, 'INVALID_PARAMS'], 'GeoJSON has degrees only')
})

t.test('exports: who may read what, and what is refused', async (t) => {
  const { gateway, get, nameOf } = await filledGateway(t)
  const loader = pairHeaders(await gateway.makeKey(['loader:read']))
  const dataset = pairHeaders(await gateway.makeKey(['dataset:read']))
  t.equal((await get(TABLE, loader)).status, 200)
  t.same(await nameOf(await get(TABLE, dataset)), [403, 'FORBIDDEN'])
  t.same(await nameOf(await get('/api/v2/dataset/export/rain', dataset)), [403, 'FORBIDDEN'])
  t.same(await nameOf(await get('/api/v1/dataloaderapi/export/gauges', loader)), [403, 'FORBIDDEN'])
  t.same(await nameOf(await get(TABLE, {})), [401, 'UNAUTHENTICATED'])
  t.same(await nameOf(await get('/api/v1/dataloaderapi/export/nobody')), [404, 'UNKNOWN_DATASET'])
  const bad: [string, number, string][] = [
    ['format=xml', 400, 'INVALID_PARAMS'],
    ['conds=%7B', 400, 'INVALID_PARAMS'],
    ['limit=1', 400, 'INVALID_PARAMS'],
    [`conds=${encodeURIComponent('{"=":["nobody",1]}')}`, 400, 'BAD_CONDITION'],
    ['order=nobody', 400, 'BAD_CONDITION'],
    [`format=gpkg&conds=${encodeURIComponent('{"=":["nobody",1]}')}`, 400, 'BAD_CONDITION'],
  ]
  for (const [query, ...expected] of bad)
    t.same(await nameOf(await get(`${TABLE}?${query}`)), expected, query.slice(0, 40))
})
