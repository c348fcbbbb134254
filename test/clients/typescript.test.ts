import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  createClient,
  type Feature,
  type FieldgateClient,
  isFieldgateError,
  type MethodName,
} from '../../src/clients/typescript/client.js'
import { METHOD_PATHS } from '../../src/clients/typescript/methods.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { makeGraph } from '../support/make-graph.js'
import { startGateway } from '../support/start-gateway.js'
import { at, town } from '../support/town.js'

/** A gateway with a map, and the client of its admin; which methods were called is written down. */
async function withClient(t: Parameters<typeof startGateway>[0]) {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(town()))
  const gateway = await startGateway(t, { dataDir })
  const called = new Set<MethodName>()
  const made = createClient({ url: gateway.url, ...gateway.admin })
  const client: FieldgateClient = {
    ...made,
    call(method, params, options) {
      called.add(method)
      return made.call(method, params, options)
    },
  }
  return { gateway, client, called }
}

function* points(count: number): Generator<Feature> {
  for (let n = 0; n < count; n++) {
    yield {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [10 + n / 1e5, 50] } as Feature['geometry'],
      properties: {
        start_datetime: '2026-01-01T00:00:00Z',
        end_datetime: '2026-01-02T00:00:00Z',
        ...{ gauge: `g${n}`, mm: n, risk: n % 11 },
      },
    }
  }
}

t.test('client: the whole of a gateway, end to end', async (t) => {
  const { gateway, client, called } = await withClient(t)

  await t.test('sessions', async (t) => {
    const other = createClient({ url: gateway.url, ...gateway.admin })
    const token = await other.signIn(60)
    t.same(await client.call('session.verify_session_token', { token }), { active: true })
    const byToken = createClient({ url: gateway.url, token })
    t.match(await byToken.call('loaderwebapi.get_loader_list', {}), { data_num: 0 })
    await other.signOut()
    t.same(await client.call('session.verify_session_token', { token }), { active: false })
    await refuses(t, byToken.call('loaderwebapi.get_loader_list', {}), 'UNAUTHENTICATED', 401)
    const opened = await client.call('session.open_session', {})
    t.equal(await client.call('session.close_session', { token: opened.access_token }), true)
  })

  await t.test('tables: registered, filled by a stream, read by methods and as features', async (t) => {
    const table = await client.call('loaderwebapi.register_loader', {
      data_name: 'rain',
      record_def: {
        gauge: { udt_name: 'varchar', length: 20 },
        mm: { udt_name: 'float8' },
        risk: { udt_name: 'int4' },
      },
      unique_columns: ['gauge'],
    })
    t.same(table, { schema: 'event', table_name: 'rain_tbl_0' })
    const counters = await client.addFeatures('rain', points(20_000))
    t.match(counters, { count_upload: 20_000, count_insert: 20_000 })
    t.match(await client.addFeatures('rain', points(10), { ifExists: 'override' }), { count_update: 10 })
    await refuses(t, client.addFeatures('rain', points(1), { ifExists: 'error' }), 'RECORD_EXISTS', 409)
    await client.call('loaderwebapi.add_record', { data_name: 'rain', record_set: [...points(1)] as never })
    const blank = await client.call('loaderwebapi.init_record', { data_name: 'rain', record_set_size: 1 })
    t.equal(blank.features.length, 1)
    const found = await client.call('mapserv.eventdata', {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [10.00002, 50] },
      properties: { table: 'rain', conds: { '<': ['mm', 10] } },
    } as never)
    t.match(found.features, [{ properties: { gauge: 'g2', mm: 2 } }])
    const seen = new Set<unknown>()
    for await (const { id } of client.features('table.rain', { limit: 3000, bbox: [9, 49, 10.1, 51] }))
      seen.add(id)
    t.equal(seen.size, 10_001)
    const one = await Array.fromAsync(client.features('table.rain', { gauge: 'g7' }))
    t.match(one, [{ properties: { mm: 7 } }])
    await refuses(t, client.features('table.none').next(), 'NOT_FOUND', 404)
    await refuses(
      t,
      client.call('getfileapi.get_file', { data_name: 'rain', prefix_id: 1, path_id: 'x', file_name: 'y' }),
      'UNKNOWN_FILE',
      200,
    )
  })

  await t.test('risk maps and routes', async (t) => {
    const area = { type: 'Feature', geometry: null }
    const cells = await client.call('mapserv.riskmap', {
      ...area,
      properties: { start_datetime: '2026-01-01T12:00:00Z', themes: ['rain'] },
    } as never)
    t.equal(cells.features.length, 20_000)
    const ends = { start_lonlat: at(0, 0), goal_lonlat: at(3, 0), start_datetime: '2026-01-01 12:00:00+09' }
    const route = await client.call('routing.dijkstra', { themes: {}, ...ends } as never)
    t.ok('geojson' in (route as object))
    t.match(await client.call('routing.list_maps', {} as never), { maps: [{ name: 'town' }] })
    await client.call('routing.nearest', { lonlat: at(1, 1) } as never)
    await client.call('routing.matrix', { sources: [at(0, 0)], targets: [at(1, 1)] } as never).catch(known)
    await client.call('routing.isochrone', { lonlat: at(0, 0), costs: [0.01] } as never).catch(known)
    await client.call('routing.calc_risk', { themes: [], route: [] } as never).catch(known)
    await refuses(
      t,
      client.call('routing.dijkstra', { themes: {}, ...ends, goal_lonlat: [0, 0] } as never),
      'OUTSIDE_MAP',
      200,
    )
  })

  await t.test('datasets and citations', async (t) => {
    await client.call('dataset.create', {
      dataset_name: 'gauges',
      columns: [{ column_name: 'id', data_type: 'bigint' }],
      key_columns: ['id'],
    })
    t.equal(await client.call('dataset.record.put', { dataset_name: 'gauges', records: [[1], [2]] }), 2)
    const cited = await client.call('dataset.citation.create', { citation_label: 'report', source: 'gauges' })
    t.equal(await client.call('dataset.record.delete', { dataset_name: 'gauges' }), 2)
    t.same(await client.call('dataset.record.get', { citation_label: cited.long_form }), [
      { id: 1 },
      { id: 2 },
    ])
    t.equal((await Array.fromAsync(client.features(`citation.${cited.long_form}`))).length, 2)
    t.equal((await client.call('dataset.get_columns', { dataset_label: 'gauges' })).length, 2)
    t.equal((await client.call('dataset.list', {})).length, 1)
    t.equal((await client.call('dataset.citation.list', {})).length, 1)
    t.equal((await client.call('dataset.citation.delete', { citation_label: 'report' })).length, 1)
    t.match(await client.call('dataset.delete', { dataset_name: 'gauges' }), { short_form: 'gauges' })
    await refuses(t, client.call('dataset.delete', { dataset_name: 'gauges' }), 'UNKNOWN_DATASET', 200)
  })

  await t.test('models: up, down, a range of one', async (t) => {
    const bytes = new Uint8Array(300_000).map((_, n) => n * 7)
    const params = { model_store_ddc: 'rain', model_kind: 'demo', model_description: '', model_meta: {} }
    const info = await client.uploadModel('put', params, bytes)
    t.match(info, { model_state: 10, model_size: bytes.length })
    const whole = await client.downloadModel(info.model_id)
    t.same(new Uint8Array(await whole.arrayBuffer()), bytes)
    const part = await client.downloadModel(info.model_id, { range: 'bytes=100-199' })
    t.equal(part.status, 206)
    t.same(new Uint8Array(await part.arrayBuffer()), bytes.slice(100, 200))
    await refuses(t, client.uploadModel('put', {}, bytes.slice(0, 100)), 'INVALID_PARAMS', 400)
    t.equal((await client.call('model_store.model.get_info', { model_store_ddc: 'rain' })).length, 1)
    t.equal((await client.call('model_store.list', {})).length, 1)
    await client.call('model_store.model.delete', { model_id: info.model_id })
    await client.call('model_store.create', { model_store_ddc: 'snow' })
    await client.call('model_store.delete', { model_store_ddc: 'snow' })
  })

  await t.test('every other method is known at its path', async (t) => {
    const names = Object.keys(METHOD_PATHS) as MethodName[]
    for (const name of names.filter((one) => !called.has(one))) {
      const error = await client.call(name, {} as never).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      t.ok(error === undefined || isFieldgateError(error), name)
      t.ok(
        !isFieldgateError(error) || !['METHOD_NOT_FOUND', 'NOT_FOUND', 'INTERNAL'].includes(error.errorName),
        name,
      )
    }
    t.equal(called.size, names.length)
  })

  await t.test('a call ends when its signal says so', async (t) => {
    const signal = AbortSignal.abort()
    await t.rejects(client.call('routing.list_maps', {} as never, { signal }), { name: 'AbortError' })
  })
})

async function refuses(t: Test, work: Promise<unknown>, errorName: string, status: number): Promise<void> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isFieldgateError(error)) throw error ?? new Error(`expected ${errorName}`)
  t.equal(error.errorName, errorName)
  t.equal(error.status, status, errorName)
  t.equal(typeof error.requestId, 'string')
}

/** For calls whose params are not the point: what is thrown must be the gateway's own. */
function known(error: unknown): void {
  if (!isFieldgateError(error)) throw error
}

t.test('client: changes go on after a break, and end with an error that stays', async (t) => {
  const { gateway, client } = await withClient(t)
  await client.call('loaderwebapi.register_loader', {
    ...{ data_name: 'x', record_def: { k: { udt_name: 'int4' } }, unique_columns: ['k'] },
  })
  const put = (k: number) =>
    client.addFeatures('x', [{ type: 'Feature', geometry: null, properties: { k } }], {
      ifExists: 'override',
    })
  await put(1)
  let opened = 0
  const breaking = createClient({
    ...{ url: gateway.url, ...gateway.admin },
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (++opened > 1 || response.body === null) return response
      // the first stream breaks after the first event
      const reader = response.body.getReader()
      let isBroken = false
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (isBroken) return controller.error(new Error('the connection broke'))
          const { value } = await reader.read()
          isBroken = Buffer.from(value ?? []).includes('id: 1')
          controller.enqueue(value)
        },
      })
      return new Response(body, { status: 200 })
    },
  })
  const changes = breaking.changes('x', { after: 0, columns: ['k'] })
  t.match((await changes.next()).value, { change: 1, feature: { properties: { k: 1 } } })
  await put(2)
  t.match((await changes.next()).value, { change: 2, feature: { properties: { k: 2 } } })
  t.ok(opened > 1)
  await client.call('loaderwebapi.drop_loader', { data_name: 'x' })
  await t.rejects(changes.next(), /No table has the name/)
  const ending = new AbortController()
  ending.abort()
  t.equal((await client.changes('x', { signal: ending.signal }).next()).done, true)
})
