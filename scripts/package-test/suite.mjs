// The gateway from the outside, over HTTP: tables, a route on a real map, a model, a citation, and all of it
// again after a restart. The same for every way of running it.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'

const EXTRACT = path.resolve('../shared/data/osm/monaco-2020.osm.pbf')
const MODEL_BYTES = 300_000
/** From the harbour to the casino of Monaco; a point in the demo town uses the map of the town. */
const MONACO = { start: [7.4167, 43.7314], goal: [7.4289, 43.7403] }

/** @param say called for each step that passed */
export async function runSuite(program, dataDir, say) {
  const { apiKey, secret, nodeId } = program.json(['init', '--data-dir', dataDir])
  assert.match(nodeId, /^[0-9a-f-]{36}$/)
  const hasRealMap = existsSync(EXTRACT)
  if (hasRealMap) buildMap(program, dataDir)
  const first = await program.serve(dataDir, { argv: hasRealMap ? [] : ['--demo'] })
  const gateway = callerOf(first.url, { APIKey: apiKey, Secret: secret })
  await checkProbes(gateway)
  say('answers /healthz, /readyz, /openrpc.json and /console/')
  await checkSession(gateway)
  say('a session')
  await fillTable(gateway)
  say('a table with events, found inside a polygon')
  const route = hasRealMap ? await askRoute(gateway) : undefined
  say(hasRealMap ? `a route on a real map (${route.nodes} points)` : 'skipped the route: no real map here')
  const model = await putModel(gateway)
  say(`an upload of ${MODEL_BYTES} bytes, read back by digest`)
  const label = await cite(gateway)
  say('a citation')
  await first.stop()

  const second = await program.serve(dataDir)
  const again = callerOf(second.url, { APIKey: apiKey, Secret: secret })
  assert.equal((await again.events()).length, 2)
  if (hasRealMap) assert.deepEqual(await askRoute(again), route)
  assert.equal(await again.digestOf(model.id), model.sha256)
  isAsCited(await again.cited(label))
  await second.stop()
  assert.match(program.run(['cite', 'verify', '--data-dir', dataDir]).stdout, /./)
  say('all of it again after a restart, and the citation verified')
}

function buildMap(program, dataDir) {
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  const input = path.join(dataDir, 'monaco.osm.pbf')
  copyFileSync(EXTRACT, input)
  program.run(['map', 'build', input, '--data-dir', dataDir])
}

function callerOf(url, keys) {
  const request = async (where, init = {}) => {
    const response = await fetch(url + where, { ...init, headers: { ...keys, ...init.headers } })
    return {
      status: response.status,
      bytes: Buffer.from(await response.arrayBuffer()),
      headers: response.headers,
    }
  }
  const rpc = async (api, method, params) => {
    const { bytes } = await request(`/api/${api}/jsonrpc`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const answer = JSON.parse(bytes)
    assert.equal(answer.error, undefined, `${method}: ${JSON.stringify(answer.error)}`)
    return answer.result
  }
  return {
    url,
    request,
    rpc,
    async events() {
      const geometry = {
        type: 'Polygon',
        coordinates: [
          [
            [7, 43],
            [8, 43],
            [8, 44],
            [7, 44],
            [7, 43],
          ],
        ],
      }
      const properties = { table: 'rain', columns: ['gauge', 'mm'], conds: {} }
      return (await rpc('v1/svcapi', 'mapserv.eventdata', { type: 'Feature', geometry, properties })).features
    },
    async digestOf(modelId) {
      const { status, bytes } = await request(`/api/v2/model_store/models/${modelId}/file`)
      assert.equal(status, 200, bytes.toString().slice(0, 300))
      return createHash('sha256').update(bytes).digest('hex')
    },
    cited: (label) => rpc('v2/dataset', 'dataset.record.get', { citation_label: label }),
  }
}

async function checkProbes({ request }) {
  assert.equal((await request('/healthz')).status, 200)
  const ready = await request('/readyz')
  assert.equal(ready.status, 200, ready.bytes.toString())
  assert.ok(JSON.parse((await request('/openrpc.json')).bytes).methods.length > 20)
  assert.match((await request('/console/')).bytes.toString(), /<html/)
}

async function checkSession({ rpc }) {
  const { access_token: token } = await rpc('v1/session', 'session.open_session', {})
  assert.match(token, /^\S{20,}$/)
  assert.equal((await rpc('v1/session', 'session.verify_session_token', { token })).active, true)
}

async function fillTable(gateway) {
  await gateway.rpc('v1/dataloaderapi', 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { gauge: { udt_name: 'varchar', length: 20 }, mm: { udt_name: 'float8' } },
    unique_columns: ['gauge', 'start_datetime'],
  })
  const record = (gauge, coordinates, mm) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates },
    properties: {
      start_datetime: '2026-01-01 00:00:00+00',
      end_datetime: '2026-01-01 01:00:00+00',
      gauge,
      mm,
    },
  })
  const record_set = [
    record('A', [7.42, 43.73], 12.5),
    record('B', [7.43, 43.74], 3),
    record('C', [9, 43], 1),
  ]
  await gateway.rpc('v1/dataloaderapi', 'loaderwebapi.add_record', { data_name: 'rain', record_set })
  assert.equal((await gateway.events()).length, 2)
}

async function askRoute({ rpc }) {
  const result = await rpc('v1/svcapi', 'routing.dijkstra', {
    start_lonlat: MONACO.start,
    goal_lonlat: MONACO.goal,
    map: 'monaco',
    themes: {},
    start_datetime: '2026-01-01T00:00:00Z',
  })
  const text = JSON.stringify(result)
  const nodes = (text.match(/\[7\.4\d*,43\.\d+/g) ?? []).length
  assert.ok(nodes > 10, text.slice(0, 500))
  return { nodes, sha256: createHash('sha256').update(text).digest('hex') }
}

async function putModel({ request, digestOf }) {
  const bytes = randomBytes(MODEL_BYTES)
  const form = new FormData()
  const data = { model_store_ddc: 'rain', model_kind: 'test', model_description: '', model_meta: {} }
  form.append('data', JSON.stringify(data))
  form.append('file', new Blob([bytes]), 'model.dat')
  const answer = await request('/api/v2/model_store/jsonrpc/upload/model_store.model.put', {
    method: 'POST',
    body: form,
  })
  const text = answer.bytes.toString()
  assert.equal(answer.status, 200, text)
  const id = /"model_id":"?([0-9a-zA-Z-]+)/.exec(text)?.[1]
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  assert.equal(await digestOf(id), sha256)
  return { id, sha256 }
}

async function cite({ rpc, cited }) {
  const dataset = (method, params) => rpc('v2/dataset', method, params)
  await dataset('dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'level_m', data_type: 'numeric(6,2)', nullable: true },
    ],
    key_columns: ['id'],
  })
  await dataset('dataset.record.put', { dataset_name: 'gauges', records: [[1, '2.40']] })
  await dataset('dataset.citation.create', { citation_label: 'report', source: 'gauges' })
  await dataset('dataset.record.put', {
    dataset_name: 'gauges',
    records: [[1, '3.10']],
    on_conflict: 'update',
  })
  isAsCited(await cited('report'))
  return 'report'
}

function isAsCited(rows) {
  assert.deepEqual(
    rows.map(({ id, level_m }) => [Number(id), level_m]),
    [[1, '2.40']],
  )
}
