import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { API_PATHS, LOADER_PATH } from '../../../../src/gateway/apis.js'
import { DEFINITION, FEED_SETTINGS, MAP, until } from '../../../support/feeds.js'
import { ENV } from '../../../support/fleet.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../../support/hub.js'
import { cli } from '../../../support/run-cli.js'
import { pairHeaders, startGateway } from '../../../support/start-gateway.js'

const skip = noHub()
const WHOLE = {
  type: 'Polygon',
  coordinates: [
    [
      [-180, -85],
      [180, -85],
      [180, 85],
      [-180, 85],
      [-180, -85],
    ],
  ],
}
const recordAt = (k: number) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [139 + k / 1000, 35] },
  properties: { k, note: `row ${k}`, speed: k / 2 },
})
const eventsOf = { type: 'Feature', geometry: WHOLE, properties: { table: 'seen', order: 'k' } }

t.test('hub: tables are written at one process and read at another, in every form', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines, { settings: { sync: { batchWaitS: 0.05 } } })
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const ok = async (hub: typeof one, at: string, method: string, params: unknown) => {
    const { body } = await hubCall(hub, admin, at, method, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result
  }
  const count = async (hub: typeof one) =>
    (await ok(hub, MAP, 'mapserv.eventdata', [eventsOf])).features.length

  await t.test('put, event data, OGC API, stream', async (t) => {
    await ok(one, LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
    const record_set = Array.from({ length: 20 }, (_, k) => recordAt(k))
    await ok(one, LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'seen', record_set })
    t.equal(await count(two), 20)
    const many = Array.from({ length: 800 }, (_, at) => recordAt(1000 + at))
    await ok(two, LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'seen', record_set: many })
    const lines = `${JSON.stringify(recordAt(5000))}\n${JSON.stringify(recordAt(5001))}\n`
    const stream = await fetch(`${two.url}/api/v1/dataloaderapi/stream/seen`, {
      method: 'POST',
      headers: { ...admin, 'Content-Type': 'application/x-ndjson' },
      body: lines,
    })
    t.equal(stream.status, 200, await stream.text())
    t.equal(await count(one), 822)
    const items = await fetch(`${one.url}/ogc/collections/table.seen/items?limit=5`, { headers: admin })
    t.match(await items.json(), { type: 'FeatureCollection', numberReturned: 5 })
    t.same(await ok(two, LOADER_PATH, 'loaderwebapi.list_retention', {}), [])
  })

  await t.test('a gateway joins, sends its rows, and gets those of others', async (t) => {
    const dataDir = path.join(place.dir, 'truck')
    const truck = await startGateway(t, { dataDir, settings: { ...FEED_SETTINGS, fleet: { reportS: 0.1 } } })
    const profile = { up: [{ table: 'stops' }], down: [{ table: 'seen' }] }
    await ok(two, API_PATHS.fleet, 'fleet.set_profile', { name: 'field', profile })
    const token = await ok(one, API_PATHS.fleet, 'fleet.create_token', { profile: 'field' })
    const joined = await cli(
      place.dir,
      ['join', two.url, '--token', token.text, '--name', 'truck', '--data-dir', dataDir],
      ENV,
    )
    t.equal(joined.code, 0, joined.stderr)
    await truck.call(LOADER_PATH, 'loaderwebapi.register_loader', { ...DEFINITION, data_name: 'stops' })
    const record_set = [recordAt(1), recordAt(2)]
    await truck.call(LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'stops', record_set })
    const stops = { ...eventsOf, properties: { table: 'stops' } }
    const atHub = async () => (await hubCall(one, admin, MAP, 'mapserv.eventdata', [stops])).body.result
    const arrived = await until(atHub, (found) => found?.features.length === 2)
    t.equal(arrived.features.length, 2, 'rows of the gateway are at the hub')
    const atTruck = async () => (await truck.call(MAP, 'mapserv.eventdata', [eventsOf])).body.result
    const down = await until(atTruck, (found) => found?.features.length === 822)
    t.equal(down.features.length, 822, 'rows of the hub are at the gateway')
    const members = await until(
      () => ok(two, API_PATHS.fleet, 'fleet.list_gateways', {}),
      (found) => found[0]?.report !== null,
    )
    t.match(members, [{ name: 'truck', state: 'member' }])
  })
})

t.test('hub: a waiting request hears at once of rows that another process has taken', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines, { settings: { sync: { batchWaitS: 3600 } } }) // no look finds them
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const argv = ['key', 'create', '--name', 'truck', '--scope', 'sync:read', '--table', '*', '--json']
  const key = pairHeaders(JSON.parse((await hubCli(place, ...argv)).stdout))
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const listening = `SELECT pid FROM pg_stat_activity
    WHERE application_name = 'fieldgate-hints' AND query LIKE 'LISTEN%' AND datname = '${place.database}'`
  const sessions = () => engines.postgres.admin<{ pid: number }>(listening)
  await until(sessions, (found) => found.length === 2)
  await hubCall(one, admin, LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
  const ids = {
    node: '22222222-2222-4222-8222-222222222222',
    feed: '33333333-3333-4333-8333-333333333333',
  }
  const question = { ...ids, table: 'seen', from: 'all', start: null }
  const { body } = await hubCall(two, key, API_PATHS.sync, 'sync.ask_table', question)
  const { table, epoch } = body.result
  const put = async (k: number) => {
    const record_set = [recordAt(k)]
    const answer = await hubCall(one, admin, LOADER_PATH, 'loaderwebapi.add_record', {
      ...{ data_name: 'seen', record_set },
    })
    t.match(answer.body, { result: {} })
  }
  /** Asks the second process for rows after a change. @returns the status: 204 when none came within 25 s */
  const ask = async (after: number) => {
    const query = `feed=${ids.feed}&epoch=${epoch}&after=${after}&wait=25`
    const answer = await fetch(`${two.url}/api/v2/sync/tables/${table}/batches?${query}`, { headers: key })
    await answer.arrayBuffer()
    return answer.status
  }
  const first = ask(0)
  await delay(500) // it waits by then; on a slow machine it may find the row when it begins
  await put(1)
  t.equal(await first, 200)

  const pids = (
    await engines.postgres.admin<{ pid: number }>(listening.replace("AND query LIKE 'LISTEN%'", ''))
  ).map(({ pid }) => pid)
  const second = ask(1)
  await delay(500)
  await engines.postgres.admin(pids.map((pid) => `SELECT pg_terminate_backend(${pid})`).join(';'))
  await put(2)
  t.equal(await second, 200, 'a row that came while nobody listened is found with the next connection')
})
