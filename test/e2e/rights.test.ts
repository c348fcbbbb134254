import t from 'tap'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const MAP = '/api/v1/svcapi/jsonrpc'

const PLACE = { type: 'Point', coordinates: [139.5, 35.5] }

/** A loader table and a dataset, each with a row; `note` of the table is encrypted. */
async function withRows(t: Parameters<typeof startGateway>[0], settings = {}): Promise<TestGateway> {
  const gateway = await startGateway(t, { settings })
  const done = async (path: string, method: string, params: object) => {
    const { body } = await gateway.call(path, method, params)
    if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
  }
  await done(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'patients',
    record_def: {
      n: { udt_name: 'int4' },
      risk: { udt_name: 'int4' },
      note: { udt_name: 'text', need_crypto: true },
    },
    unique_columns: ['n'],
  })
  await done(LOADER, 'loaderwebapi.add_record', {
    data_name: 'patients',
    record_set: [{ type: 'Feature', geometry: PLACE, properties: { n: 1, risk: 3, note: 'in confidence' } }],
  })
  await done(DATASET, 'dataset.create', {
    dataset_name: 'sites',
    columns: [
      { column_name: 'id', data_type: 'int' },
      { column_name: 'risk', data_type: 'int' },
      { column_name: 'place', data_type: 'geometry' },
      { column_name: 'start_datetime', data_type: 'timestamp with time zone', nullable: true },
      { column_name: 'end_datetime', data_type: 'timestamp with time zone', nullable: true },
    ],
  })
  await done(DATASET, 'dataset.record.put', { dataset_name: 'sites', records: [[7, 3, PLACE, null, null]] })
  return gateway
}

t.test('rights: a loader table is cited, and its columns are listed, by keys that may read it', async (t) => {
  const gateway = await withRows(t)
  const cite = async (scopes: string[], source: string) => {
    const headers = pairHeaders(await gateway.makeKey(scopes))
    const params = { citation_label: 'taken', source }
    return (await gateway.call(DATASET, 'dataset.citation.create', params, headers)).body
  }
  const refused = await cite(['dataset:write'], 'patients')
  t.match(refused.error, { code: 1002, data: { name: 'FORBIDDEN', scope: 'loader:read' } })
  const { body } = await gateway.call(DATASET, 'dataset.citation.list', {})
  t.same(body.result, [], 'nothing was cited')
  t.match(await cite(['dataset:write'], 'sites'), { result: { short_form: 'taken' } })
  t.match(await cite(['dataset:write', 'loader:read'], 'patients'), { result: { short_form: 'taken' } })
  t.match(await cite(['admin'], 'patients'), { result: { short_form: 'taken' } })
  const columns = async (scopes: string[], dataset_label: string) => {
    const headers = pairHeaders(await gateway.makeKey(scopes))
    return (await gateway.call(DATASET, 'dataset.get_columns', { dataset_label }, headers)).body
  }
  t.match(await columns(['dataset:read'], 'patients'), { error: { data: { scope: 'loader:read' } } })
  t.match(await columns(['dataset:read', 'loader:read'], 'patients'), { result: Array })
  t.match(await columns(['dataset:read'], 'sites'), { result: Array })
})

t.test('rights: event data and risk maps of a dataset need dataset:read', async (t) => {
  const gateway = await withRows(t, { riskmap: { levelColumn: 'risk' } })
  const ask = async (scopes: string[], method: string, properties: object) => {
    const headers = pairHeaders(await gateway.makeKey(scopes))
    const params = { type: 'Feature', geometry: null, properties }
    return (await gateway.call(MAP, method, params, headers)).body
  }
  const period = { start_datetime: '2026-01-01 00:00:00Z' }
  for (const [method, properties] of [
    ['mapserv.eventdata', (table: string) => ({ table })],
    ['mapserv.riskmap', (theme: string) => ({ themes: [theme], ...period })],
  ] as const) {
    const refused = await ask(['map:read'], method, properties('sites'))
    t.match(refused.error, { code: 1002, data: { name: 'FORBIDDEN', scope: 'dataset:read' } }, method)
    const both = await ask(['map:read', 'dataset:read'], method, properties('sites'))
    t.equal(both.result?.features.length, 1, `${method}: ${JSON.stringify(both.error)}`)
    const table = await ask(['map:read'], method, properties('patients'))
    t.equal(table.result.features.length, 1, `${method} of a loader table`)
  }
})

t.test('rights: columns with need_crypto never leave by an open path', async (t) => {
  const gateway = await withRows(t, { server: { openTo: ['/ogc/'] } })
  const cited = await gateway.call(DATASET, 'dataset.citation.create', {
    citation_label: 'open',
    source: 'patients',
  })
  const collections = ['table.patients', `citation.${cited.body.result.long_form}`]
  for (const id of collections) {
    for (const part of [
      '',
      '/items',
      '/items/1',
      '/schema',
      '/queryables',
      '/items?f=html',
      '/schema?f=html',
    ]) {
      const response = await fetch(`${gateway.url}/ogc/collections/${id}${part}`)
      const text = await response.text()
      t.equal(response.status, 200, `${id}${part}`)
      t.notMatch(text, /in confidence|\bnote\b/, `${id}${part}`)
    }
    const compared = await fetch(`${gateway.url}/ogc/collections/${id}/items?note=in%20confidence`)
    t.equal(compared.status, 400, 'it cannot be compared with a guess')
  }
  const described = await (await fetch(`${gateway.url}/ogc/api`)).text()
  t.notMatch(described, /\bnote\b/)
})

t.test('rights: columns with need_crypto are shown below /ogc to keys that may read the table', async (t) => {
  const gateway = await withRows(t)
  const headers = pairHeaders(await gateway.makeKey(['loader:read']))
  const response = await fetch(`${gateway.url}/ogc/collections/table.patients/items`, { headers })
  t.match(await response.text(), /in confidence/)
})

t.test('rights: a session opened with a secret that a rotation replaced ends with that secret', async (t) => {
  const gateway = await startGateway(t)
  const pair = await gateway.makeKey(['session:write'])
  const open = async (headers: Record<string, string>) =>
    (await gateway.call('/api/v1/session/jsonrpc', 'session.open_session', { expires_in: 864_000 }, headers))
      .body
  const before = await open(pairHeaders(pair))
  t.equal(before.result.expires_in, 864_000)
  await gateway.rotateKey(pair.apiKey, 3600)
  const overlapping = await open(pairHeaders(pair))
  t.ok(overlapping.result.expires_in <= 3600, `found ${overlapping.result.expires_in}`)
  await gateway.rotateKey(pair.apiKey, 0)
  for (const { result } of [before, overlapping]) {
    const refused = await open({ 'Svc-Session-Token': result.access_token })
    t.match(refused.error, { data: { name: 'UNAUTHENTICATED' } })
  }
})
