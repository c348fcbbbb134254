import t from 'tap'
import { allFeatures, linkOf, ogcFaults, ogcGet } from '../support/ogc.js'
import { pairHeaders, post, startGateway, type TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'

const COLUMNS = {
  gauge: { udt_name: 'varchar', length: 20 },
  mm: { udt_name: 'float8' },
  hits: { udt_name: 'int4' },
  total: { udt_name: 'int8' },
  wet: { udt_name: 'bool' },
  day: { udt_name: 'date' },
  note: { udt_name: 'text', need_crypto: true },
}

/** Feature `n` stands at (n/10 - 5, n/10 - 5) and lasts an hour from hour `n`. */
function rainFeature(n: number): object {
  const start = new Date(Date.UTC(2026, 0, 1, n)).toISOString().slice(0, 19)
  const end = new Date(Date.UTC(2026, 0, 1, n + 1)).toISOString().slice(0, 19)
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [n / 10 - 5, n / 10 - 5] },
    properties: {
      start_datetime: `${start}Z`,
      end_datetime: `${end}Z`,
      gauge: `g${n % 10}`,
      mm: n % 2 === 0 ? n : n + 0.5,
      hits: n,
      total: 5_000_000_000 + n,
      wet: n % 2 === 0,
      day: '2026-01-01',
      note: `secret ${n}`,
    },
  }
}

async function withRain(t: Parameters<typeof startGateway>[0], count: number): Promise<TestGateway> {
  const gateway = await startGateway(t)
  const made = await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: COLUMNS,
    unique_columns: ['hits'],
  })
  if (made.body.error !== undefined) throw new Error(JSON.stringify(made.body.error))
  await addRain(gateway, 0, count)
  return gateway
}

async function addRain(gateway: TestGateway, from: number, count: number): Promise<void> {
  const record_set = Array.from({ length: count }, (_, index) => rainFeature(from + index))
  const added = await gateway.call(LOADER, 'loaderwebapi.add_record', { data_name: 'rain', record_set })
  if (added.body.error !== undefined) throw new Error(JSON.stringify(added.body.error))
}

t.test('ogc: landing page, conformance and collections are as the standard has them', async (t) => {
  const gateway = await withRain(t, 25)
  const landing = await ogcGet(gateway, '')
  t.equal(landing.status, 200)
  t.equal(landing.type, 'application/json')
  t.same(ogcFaults('landingPage', landing.body), [])
  for (const rel of ['self', 'alternate', 'service-desc', 'service-doc', 'conformance', 'data'])
    t.ok(linkOf(landing.body, rel), rel)
  const conformance = await ogcGet(gateway, linkOf(landing.body, 'conformance') ?? '')
  t.same(ogcFaults('conformance', conformance.body), [])
  t.ok(conformance.body.conformsTo.includes('http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core'))
  const { body } = await ogcGet(gateway, linkOf(landing.body, 'data') ?? '')
  t.same(ogcFaults('collections', body), [])
  t.same(
    body.collections.map(({ id }: { id: string }) => id),
    ['table.rain'],
  )
  const one = await ogcGet(gateway, '/collections/table.rain')
  t.same(ogcFaults('collection', one.body), [])
  const [west, south, east, north] = one.body.extent.spatial.bbox[0]
  t.ok(west <= -5 && south <= -5 && east >= -2.6 && north >= -2.6 && west > -5.01 && east < -2.59)
  t.same(one.body.extent.temporal.interval, [['2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z']])
  for (const rel of ['items', 'describedby', 'self']) t.ok(linkOf(one.body, rel), rel)
})

t.test('ogc: items carry ids, counts, links, and every property', async (t) => {
  const gateway = await withRain(t, 25)
  const { body, type, headers } = await ogcGet(gateway, '/collections/table.rain/items?limit=10')
  t.same(ogcFaults('featureCollection', body), [])
  t.equal(type, 'application/geo+json')
  t.equal(headers.get('content-crs'), '<http://www.opengis.net/def/crs/OGC/1.3/CRS84>')
  t.match({ ...body, features: [] }, { numberMatched: 25, numberReturned: 10 })
  t.same(body.features[1].properties, {
    start_datetime: '2026-01-01T10:00:00+09:00',
    end_datetime: '2026-01-01T11:00:00+09:00',
    ...{
      gauge: 'g1',
      mm: 1.5,
      hits: 1,
      total: 5_000_000_001,
      wet: false,
      day: '2026-01-01',
      note: 'secret 1',
    },
  })
  const item = await ogcGet(gateway, `/collections/table.rain/items/${body.features[1].id}`)
  t.same(ogcFaults('feature', item.body), [])
  t.same(item.body.properties, body.features[1].properties)
  t.same(item.body.geometry, body.features[1].geometry)
  t.ok(linkOf(item.body, 'collection'))
  t.match(item.text, /"mm":1\.5/)
  const even = await ogcGet(gateway, `/collections/table.rain/items/${body.features[0].id}`)
  t.match(even.text, /"mm":0\.0/, 'a type with decimals always shows one')
})

t.test('ogc: paging forward and back neither repeats nor skips while rows arrive', async (t) => {
  const gateway = await withRain(t, 25)
  const seen: number[] = []
  let url: string | undefined = '/collections/table.rain/items?limit=7'
  let last: { links: { rel: string; href: string }[] } = { links: [] }
  for (let added = 25; url !== undefined && seen.length < 100; added++) {
    const { body }: Awaited<ReturnType<typeof ogcGet>> = await ogcGet(gateway, url)
    seen.push(...body.features.map(({ properties }: { properties: { hits: number } }) => properties.hits))
    last = body
    url = linkOf(body, 'next')
    if (added < 28) await addRain(gateway, added, 1)
  }
  t.same(
    seen,
    Array.from({ length: 28 }, (_, n) => n),
  )
  const back: number[] = []
  for (url = linkOf(last, 'prev'); url !== undefined; ) {
    const { body }: Awaited<ReturnType<typeof ogcGet>> = await ogcGet(gateway, url)
    t.ok(linkOf(body, 'next'), 'what was left is reached again')
    back.unshift(...body.features.map(({ properties }: { properties: { hits: number } }) => properties.hits))
    url = linkOf(body, 'prev')
  }
  t.same(
    back,
    Array.from({ length: 28 - (seen.length % 7 || 7) }, (_, n) => n),
  )
})

t.test('ogc: bbox, datetime and properties filter, alone and together', async (t) => {
  const gateway = await withRain(t, 100)
  const hits = async (query: string) => {
    const reply = await ogcGet(gateway, `/collections/table.rain/items?limit=1000&${query}`)
    t.equal(reply.status, 200, `${query} ${reply.text.slice(0, 200)}`)
    t.equal(reply.body.numberMatched, reply.body.features.length, query)
    return reply.body.features.map(({ properties }: { properties: { hits: number } }) => properties.hits)
  }
  t.same(await hits('bbox=-5,-5,-4.8,-4.8'), [0, 1, 2])
  t.same(await hits('bbox=-5,-5,0,-4.8,-4.8,100'), [0, 1, 2], 'six numbers')
  t.same(await hits('bbox=-4.9,-4.9,-4.9,-4.9'), [1], 'a point')
  t.same(await hits('datetime=2026-01-01T03:30:00Z'), [3])
  t.same(await hits('datetime=2026-01-01T03:00:00Z/2026-01-01T04:00:00Z'), [3, 4])
  t.same(await hits('datetime=../2026-01-01T01:30:00Z'), [0, 1])
  t.same(await hits('datetime=2026-01-05T02:30:00Z/..'), [98, 99])
  t.same(await hits('datetime=2026-01-05T02:30:00Z/'), [98, 99])
  t.same((await hits('datetime=2026-01-05')).slice(0, 2), [87, 88], 'a day, in service.timeZone')
  t.same(await hits('gauge=g3&wet=false&hits=13'), [13])
  t.same(await hits('hits=13'), [13])
  t.same(await hits('total=5000000013'), [13])
  t.same(await hits('bbox=-5,-5,-4,-4&gauge=g3'), [3])
  t.same(await hits('gauge=nobody'), [])
})

t.test('ogc: a bbox over the antimeridian takes both of its parts', async (t) => {
  const gateway = await startGateway(t)
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'buoys',
    record_def: { name: { udt_name: 'text' } },
    unique_columns: ['name'],
  })
  const record_set: object[] = [179.5, -179.5, 0, 170].map((lng) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [lng, 0] },
    properties: { name: String(lng) },
  }))
  record_set.push({ type: 'Feature', geometry: null, properties: { name: 'adrift' } })
  await gateway.call(LOADER, 'loaderwebapi.add_record', { data_name: 'buoys', record_set })
  const { body } = await ogcGet(gateway, '/collections/table.buoys/items?bbox=175,-10,-175,10')
  t.same(
    body.features.map(({ properties }: { properties: { name: string } }) => properties.name),
    ['179.5', '-179.5', 'adrift'],
    'a feature without a geometry is in every box, as the standard has it',
  )
  t.equal(body.numberMatched, 3)
  t.ok((await ogcGet(gateway, '/collections/table.buoys')).body.extent.spatial.bbox[0][2] < 180)
})

t.test('ogc: Part 2 turns axes and projects, in the answer and in the bbox', async (t) => {
  const gateway = await withRain(t, 3)
  const at = async (query: string) => {
    const reply = await ogcGet(gateway, `/collections/table.rain/items?limit=1&${query}`)
    return {
      coordinates: reply.body.features[0]?.geometry.coordinates,
      crs: reply.headers.get('content-crs'),
    }
  }
  const epsg = (code: number) => `http://www.opengis.net/def/crs/EPSG/0/${code}`
  await addRain(gateway, 40, 1) // at (-1, -1)
  t.same(await at(`crs=${epsg(4326)}&hits=40`), { coordinates: [-1, -1], crs: `<${epsg(4326)}>` })
  const mercator = await at(`crs=${epsg(3857)}&hits=40`)
  t.ok(Math.abs(mercator.coordinates[0] - -111_319.490_793) < 1e-5, 'as PROJ has it')
  t.ok(Math.abs(mercator.coordinates[1] - -111_325.142_866) < 1e-5)
  const box = '-112000,-112000,-111000,-111000'
  t.same((await at(`bbox=${box}&bbox-crs=${epsg(3857)}`)).coordinates, [-1, -1])
  t.same((await at(`bbox=-1.05,-1.01,-0.95,-0.99&bbox-crs=${epsg(4326)}`)).coordinates, [-1, -1])
  const unknown = await ogcGet(gateway, `/collections/table.rain/items?crs=${epsg(2193)}`)
  t.equal(unknown.status, 400)
})

t.test("ogc: what cannot be read is refused with 400 and the standard's own body", async (t) => {
  const gateway = await withRain(t, 2)
  for (const query of [
    'unknown=1',
    'note=secret%201',
    'limit=0',
    'limit=ten',
    'bbox=1,2,3',
    'bbox=1,2,3,x',
    'bbox=0,5,1,4',
    'datetime=yesterday',
    'datetime=2026-02-30T00:00:00Z',
    'datetime=2026-01-02T00:00:00Z/2026-01-01T00:00:00Z',
    'datetime=2026-01-01T00:00:00Z/../..',
    'hits=many',
    'wet=perhaps',
    'limit=1&limit=2',
    'after=1&before=2',
    'resultType=all',
    'f=xml',
    'bbox-crs=EPSG:4326',
  ]) {
    const { status, body } = await ogcGet(gateway, `/collections/table.rain/items?${query}`)
    t.equal(status, 400, query)
    t.same(ogcFaults('exception', body), [], query)
    t.match(body.description, /found .*expected|Bad condition/, query)
  }
  for (const path of [
    '/nothing',
    '/collections/table.none',
    '/collections/rain',
    '/collections/table.rain/items/9999',
    '/collections/table.rain/items/x',
    '/collections/table.rain/tiles',
    '/collections/table.rain/items/1/2',
  ])
    t.equal((await ogcGet(gateway, path)).status, 404, path)
  t.equal((await ogcGet(gateway, '/collections?limit=1')).status, 400)
  const written = await ogcGet(gateway, '/collections', {}, 'POST')
  t.equal(written.status, 405)
  t.equal(written.headers.get('allow'), 'GET, HEAD, OPTIONS')
  t.equal((await ogcGet(gateway, '/collections', {}, 'OPTIONS')).status, 204)
  const head = await ogcGet(gateway, '/collections/table.rain/items?bbox=-9,-9,9,9', {}, 'HEAD')
  t.same([head.status, head.type, head.text], [200, 'application/geo+json', ''])
  const gml = await ogcGet(gateway, '/collections', { Accept: 'application/gml+xml' })
  t.match(gml, { status: 406, body: { code: 'NOT_ACCEPTABLE' } })
  t.equal((await ogcGet(gateway, '/%ff')).status, 400)
})

t.test('ogc: HTML by f and by Accept, escaped, with a policy that allows no script', async (t) => {
  const gateway = await withRain(t, 2)
  await addMarkup(gateway)
  const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  for (const path of [
    '',
    '/conformance',
    '/api',
    '/collections',
    '/collections/table.rain',
    '/collections/table.rain/schema',
    '/collections/table.rain/queryables',
    '/collections/table.rain/items',
    '/collections/table.rain/items/3',
    '/nowhere',
  ]) {
    const { type, headers, text } = await ogcGet(gateway, path, browser)
    t.equal(type, 'text/html; charset=utf-8', path)
    t.match(headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-/)
    t.notMatch(text, /<script/i, path)
    t.match(text, /<\/html>\n$/, path)
  }
  const items = await ogcGet(gateway, '/collections/table.rain/items?f=html')
  t.match(items.text, /&lt;script&gt;/)
  t.match(items.text, /3 shown of 3/)
  t.equal((await ogcGet(gateway, '/collections?f=json', browser)).type, 'application/json')
  t.equal((await ogcGet(gateway, '/collections', { Accept: '*/*' })).type, 'application/json')
})

async function addMarkup(gateway: TestGateway): Promise<void> {
  const [record] = [rainFeature(77)] as { properties: Record<string, unknown> }[]
  const properties = { ...record?.properties, gauge: '<script>' }
  await gateway.call(LOADER, 'loaderwebapi.add_record', {
    data_name: 'rain',
    record_set: [{ ...record, properties }],
  })
}

t.test('ogc: datasets are read as they are now, citations as they were', async (t) => {
  const gateway = await startGateway(t)
  const call = async (method: string, params: object) => {
    const { body } = await gateway.call(DATASET, method, params)
    if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
    return body.result
  }
  await call('dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'level_m', data_type: 'numeric(6,2)', nullable: true },
      { column_name: 'place', data_type: 'geometry(Point,4326)', nullable: true },
    ],
    key_columns: ['id'],
  })
  await call('dataset.create', { dataset_name: 'plain', columns: [{ column_name: 'id', data_type: 'int' }] })
  const records = Array.from({ length: 60 }, (_, n) => [n, `${n}.50`, `POINT(${n / 10} 1)`])
  await call('dataset.record.put', { dataset_name: 'gauges', records })
  await call('dataset.record.put', { dataset_name: 'plain', records: [[1], [2]] })
  const cited = await call('dataset.citation.create', { citation_label: 'report', source: 'gauges' })
  await call('dataset.record.put', {
    dataset_name: 'gauges',
    records: [[1, '9.75', 'POINT(100 1)']],
    on_conflict: 'update',
  })
  await call('dataset.record.delete', { dataset_name: 'gauges', condition: { '=': ['id', 2] } })
  const citation = `/collections/citation.${cited.long_form}/items`
  const levels = async (path: string) =>
    (await allFeatures(gateway, path)).map(({ properties }) => [properties.id, properties.level_m])
  const now = await levels('/collections/dataset.gauges/items?limit=25')
  t.equal(now.length, 59)
  t.same(
    now.find(([id]) => id === 1),
    [1, 9.75],
  )
  const then = await levels(`${citation}?limit=25`)
  t.equal(then.length, 60)
  t.same(then[1], [1, 1.5])
  t.same(then[2], [2, 2.5])
  t.same(await levels(`${citation}?bbox=0.05,0,0.25,2`), [
    [1, 1.5],
    [2, 2.5],
  ])
  t.same(await levels('/collections/dataset.gauges/items?bbox=0.05,0,0.25,2'), [])
  t.same(await levels('/collections/dataset.gauges/items?level_m=9.75'), [[1, 9.75]])
  t.match((await ogcGet(gateway, `${citation}?id=1`)).text, /"level_m":1\.50/)
  const extent = (await ogcGet(gateway, '/collections/dataset.gauges')).body.extent.spatial.bbox[0]
  t.ok(extent[0] <= 0 && extent[2] >= 100 && extent[2] < 100.1)
  const plain = await allFeatures(gateway, '/collections/dataset.plain/items')
  t.same(
    plain.map(({ geometry, properties }) => [geometry, properties.id]),
    [
      [null, 1],
      [null, 2],
    ],
  )
  // back from the end, of both kinds
  for (const path of ['/collections/dataset.gauges/items', citation]) {
    const { body } = await ogcGet(gateway, `${path}?limit=10&before=31`)
    t.same(
      body.features.map(({ id }: { id: number }) => id),
      Array.from({ length: 10 }, (_, n) => 21 + n),
    )
    t.ok(linkOf(body, 'prev'))
  }
})

t.test('ogc: keys, sessions and Basic open it; a scope shows its own collections only', async (t) => {
  const gateway = await withRain(t, 1)
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'plain',
    columns: [{ column_name: 'id', data_type: 'int' }],
  })
  const ids = async (headers: Record<string, string>) => {
    const { status, body } = await ogcGet(gateway, '/collections', headers)
    return status === 200 ? body.collections.map(({ id }: { id: string }) => id) : status
  }
  const basic = ({ apiKey, secret }: { apiKey: string; secret: string }) => ({
    Authorization: `Basic ${Buffer.from(`${apiKey}:${secret}`).toString('base64')}`,
  })
  const loader = await gateway.makeKey(['loader:read'])
  const dataset = await gateway.makeKey(['dataset:read'])
  const map = await gateway.makeKey(['map:read'])
  t.same(await ids(pairHeaders(loader)), ['table.rain'])
  t.same(await ids(basic(loader)), ['table.rain'])
  t.same(await ids(basic(dataset)), ['dataset.plain'])
  t.equal(await ids(basic(map)), 403)
  t.equal(await ids(basic({ apiKey: loader.apiKey, secret: 'wrong' })), 401)
  const opened = await post(
    `${gateway.url}/api/v1/session/jsonrpc/call/session.open_session`,
    '{}',
    pairHeaders(gateway.admin),
  )
  const bySession = await fetch(`${gateway.url}/ogc`, {
    headers: { 'Svc-Session-Token': opened.body.access_token },
  })
  t.equal(bySession.status, 200)
  const anonymous = await fetch(`${gateway.url}/ogc`)
  t.equal(anonymous.status, 401)
  t.match(anonymous.headers.get('www-authenticate'), /^Basic /)
  t.same(ogcFaults('exception', await anonymous.json()), [])
  t.equal((await ogcGet(gateway, '/collections/dataset.plain', basic(loader))).status, 404)
})

t.test('ogc: no key is required with server.openTo, and links begin with server.publicUrl', async (t) => {
  const gateway = await startGateway(t, {
    settings: { server: { openTo: ['/ogc/'], publicUrl: 'https://maps.example/gate' } },
  })
  const response = await fetch(`${gateway.url}/ogc`)
  t.equal(response.status, 200)
  const body = (await response.json()) as Parameters<typeof linkOf>[0]
  t.equal(linkOf(body, 'data'), 'https://maps.example/gate/ogc/collections')
})
