import path from 'node:path'
import t from 'tap'
import { API_PATHS, LOADER_PATH } from '../../../src/gateway/apis.js'
import { DEFINITION, FEED_SETTINGS, MAP, until } from '../../support/feeds.js'
import { ENV } from '../../support/fleet.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { cli } from '../../support/run-cli.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

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
    const refused = await hubCall(one, admin, LOADER_PATH, 'loaderwebapi.list_retention', {})
    t.match(refused.body, { error: { code: 11014 } })
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
