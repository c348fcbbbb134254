import path from 'node:path'
import t, { type Test } from 'tap'
import { API_PATHS, LOADER_PATH } from '../../src/gateway/apis.js'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { addFlood, writeTown } from '../support/console-gateway.js'
import { DEFINITION, FEED_SETTINGS } from '../support/feeds.js'
import { ENV } from '../support/fleet.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../support/hub.js'
import { until } from '../support/models.js'
import { cli } from '../support/run-cli.js'
import { type KeyPair, pairHeaders, type RpcAnswer, startGateway } from '../support/start-gateway.js'

const skip = missingChromium || noHub()
const ROUTE = 'points=10,50.006;10.012,50.006&view=10.006,50.006,14'
const FLOOD = 'theme=flood:0,0.1,0.2,0.5,1,2,5,20,100,1000,9999&at=2026-01-01T10:30:00.000Z'

t.test('console of a hub on engines: routes on the map, and the map of the fleet', { skip }, async (t) => {
  const place = await makeHub(t, await startEngines(t))
  const admin = JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout) as KeyPair
  writeTown(path.join(place.dir, 'one'))
  const hub = await serveHub(t, place, 'one')
  const call = (at: string, method: string, params?: unknown) =>
    hubCall(hub, pairHeaders(admin), at, method, params)
  await addFlood({ call })
  await joinTruck(t, place.dir, hub.url, (method, params) => call(API_PATHS.fleet, method, params))
  const view = await openConsole(await startBrowser(t), hub.url)
  const { page, goTo, complaints } = view
  const failed: string[] = []
  const tiles = new Set<number>()
  page.on('response', (response) => {
    const at = new URL(response.url()).pathname
    if (response.status() >= 400) failed.push(`${response.status()} ${at}`)
    if (/^\/tiles\/town\/\d+\//.test(at)) tiles.add(response.status())
  })
  await signIn(view, admin)

  await goTo(`#/map?${ROUTE}&${FLOOD}`)
  await page.getByText(/highest risk 10 → 0, exposure −100\s%/).waitFor()
  await page.getByRole('button', { name: /^Fastest/ }).click()
  await page.locator('.totals div', { hasText: 'Highest risk' }).getByText('10', { exact: true }).waitFor()
  await until('tiles of roads are drawn', async () => tiles.has(200))

  await goTo('#/fleet')
  await page.getByRole('table', { name: 'Gateways of this hub' }).getByText('truck').waitFor()
  tiles.clear()
  await page.getByText('Map of the gateways').click()
  await page.getByText('Gateways that have reported a position: 1').waitFor()
  await until('roads lie below the gateways', async () => tiles.size > 0)
  t.same(failed, [])
  t.same(complaints, [])
})

/** A gateway in the town joins the hub, and reports its position. */
async function joinTruck(
  t: Test,
  dir: string,
  url: string,
  call: (method: string, params: unknown) => Promise<RpcAnswer>,
): Promise<void> {
  const profile = { up: [{ table: 'seen' }], position_table: 'seen' }
  await call('fleet.set_profile', { name: 'field', profile })
  const token = (await call('fleet.create_token', { profile: 'field' })).body.result.text
  const dataDir = path.join(dir, 'truck')
  const truck = await startGateway(t, { dataDir, settings: { ...FEED_SETTINGS, fleet: { reportS: 0.1 } } })
  await truck.call(LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
  const geometry = { type: 'Point', coordinates: [10.006, 50.006] }
  const record_set = [{ type: 'Feature', geometry, properties: { k: 1, note: 'here', speed: 3 } }]
  await truck.call(LOADER_PATH, 'loaderwebapi.add_record', { data_name: 'seen', record_set })
  const argv = ['join', url, '--token', token, '--name', 'truck', '--data-dir', dataDir]
  const joined = await cli(dir, argv, ENV)
  if (joined.code !== 0) throw new Error(joined.stderr)
  const positions = async () => (await call('fleet.list_positions', {})).body.result
  await until('the hub knows where the truck is', async () => (await positions()).length === 1)
}
