import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import { until } from '../support/models.js'
import type { TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MANY = 2600

async function call(gateway: TestGateway, method: string, params: object): Promise<void> {
  const { body } = await gateway.call(LOADER, `loaderwebapi.${method}`, params)
  if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
}

/** A table of incidents, one each minute of a day and more, all over the town; some tables beside it. */
async function addIncidents(gateway: TestGateway): Promise<void> {
  await call(gateway, 'register_loader', {
    data_name: 'incidents',
    record_def: {
      number: { udt_name: 'int4' },
      kind_of_incident: { udt_name: 'text', is_nullable: true },
      depth_m: { udt_name: 'float8', is_nullable: true },
    },
    unique_columns: ['number'],
  })
  const start = Date.parse('2026-01-01T00:00:00Z')
  const record = (number: number) => ({
    type: 'Feature',
    geometry: {
      type: 'Point',
      coordinates: [10 + ((number * 7) % 100) * 0.00012, 50 + ((number * 13) % 101) * 0.00012],
    },
    properties: {
      ...{
        number,
        kind_of_incident: number % 4 === 0 ? 'flooded road' : 'fallen tree',
        depth_m: number % 10,
      },
      start_datetime: new Date(start + number * 60_000).toISOString(),
      end_datetime: new Date(start + (number + 1) * 60_000).toISOString(),
    },
  })
  for (let from = 0; from < MANY; from += 1300) {
    const record_set = Array.from({ length: 1300 }, (_, i) => record(from + i))
    await call(gateway, 'add_record', { data_name: 'incidents', record_set })
  }
  for (let n = 0; n < 20; n++) {
    await call(gateway, 'register_loader', {
      data_name: `sensor_${n}`,
      record_def: { id: { udt_name: 'int4' } },
      unique_columns: ['id'],
    })
  }
}

t.test(
  'map: records are clustered beyond 2,000, filtered, coloured, told in words, and follow the time',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await addIncidents(gateway)
    const view = await openConsole(await startBrowser(t), gateway.url, { width: 1000, height: 700 })
    const { page, goTo, complaints } = view
    await signIn(view, gateway.admin)
    await goTo('#/map?view=10.006,50.006,13.5')
    const tables = page.locator('.choose-tables').last().getByRole('checkbox')
    await until('a few tables are listed', async () => (await tables.count()) === 8)
    await page.getByLabel('Filter tables').fill('inci')
    await page.locator('.choose-tables').getByRole('checkbox', { name: 'incidents' }).check()
    await page.getByText('Records shown: 2,600').waitFor()
    await page.getByLabel('Filter tables').fill('')
    await page.getByRole('button', { name: 'Show 13 more' }).click()
    t.equal(await tables.count(), 21)

    // one instant: the time moves to the first record, and the records follow it when it is moved
    t.match(await page.locator('.timeline .ends').textContent(), /^1 Jan 2026, \d\d:\d\d2 Jan 2026, /)
    const time = page.getByRole('slider', { name: 'Time' })
    await time.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('Records shown: 1', { exact: true }).waitFor()
    t.equal(await page.getByLabel('Show records').inputValue(), 'at')
    await page.getByRole('slider', { name: 'Marked from' }).focus()
    await page.keyboard.press('End')
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageDown')
    await until('the marked range decides', async () => {
      const text = (await page.getByText(/^Records shown: /).textContent()) ?? ''
      const n = Number(text.replace(/\D/g, ''))
      return n > 50 && n < 2000
    })
    t.equal(await page.getByLabel('Show records').inputValue(), 'brush')
    t.match(page.url(), /brush=2026-01-0/)
    const marked = await page.locator('.timeline .brush + .small').textContent()
    t.match(marked, /^\d+ Jan 2026, \d\d:\d\d – \d+ Jan 2026, \d\d:\d\d$/)
    t.equal(await page.locator('.map-legend').isVisible(), false, 'no theme is shown')

    await page.getByLabel('Show records').selectOption('all')
    await page.getByText('Records shown: 2,600').waitFor()
    await page.getByText('Filter records').click()
    await page.getByLabel('Column').selectOption('kind_of_incident')
    await page.getByLabel('Comparison').selectOption('like')
    await page.getByLabel('Value').fill('flood')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Records shown: 650').waitFor()
    await page.getByLabel('Colour by').selectOption('depth_m')
    const legend = page.locator('.swatches li')
    await until('numbers have five classes', async () => (await legend.count()) === 5)
    await page.getByLabel('Colour by').selectOption('kind_of_incident')
    await until('one value is left', async () => (await legend.allTextContents()).join() === 'flooded road')

    // a cluster is approached by clicks until single records can be hit
    const box = await page.locator('canvas').boundingBox()
    if (box === null) throw new Error('the map has no box')
    await goTo('#/map?view=10.006,50.006,19&events=incidents')
    await page.getByText(/^Records shown: \d+$/).waitFor()
    const [lng, lat] = [10 + ((50 * 7) % 100) * 0.00012, 50 + ((50 * 13) % 101) * 0.00012]
    await goTo(`#/map?view=${lng},${lat},20&events=incidents`)
    await page.getByText(/^Records shown: \d+$/).waitFor()
    const popup = page.locator('.maplibregl-popup-content')
    await until('the record can be hit', async () => {
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
      return (await popup.count()) > 0
    })
    t.match(await popup.locator('h3').first().textContent(), /^incidents$/)
    t.match(await popup.textContent(), /Kind of incident/)
    t.notMatch(await popup.textContent(), /start_datetime|_tbl_|kind_of/)
    t.same(complaints, [])
  },
)

t.test('map: play lets the time run to the end of the data', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addIncidents(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url, { width: 1000, height: 700 })
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/map?view=10.006,50.006,13.5&events=incidents')
  await page.getByText('Records shown: 2,600').waitFor()
  const time = page.getByRole('slider', { name: 'Time' })
  await time.focus()
  await page.keyboard.press('End')
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowLeft')
  const moment = page.locator('.moment')
  const before = await moment.textContent()
  await page.getByRole('button', { name: 'Play' }).click()
  await until('the time runs', async () => (await moment.textContent()) !== before)
  await page.getByRole('button', { name: 'Play' }).waitFor() // it has ended
  t.equal(await time.inputValue(), await time.getAttribute('max'))
  t.same(complaints, [])
})

t.test('map: what cannot be reached has a way on', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url, { width: 1000, height: 700 })
  const { page, goTo } = view
  const block = async (text: string) =>
    await page.route('**/jsonrpc', (route) =>
      route.request().postData()?.includes(text) === true ? route.abort() : route.continue(),
    )
  await signIn(view, gateway.admin)
  await block('routing.list_maps')
  await goTo('#/map')
  await page.getByText('The gateway cannot be reached').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Tables' }).waitFor()
  await page.unroute('**/jsonrpc')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('canvas').waitFor()
  t.equal(await page.getByText('The gateway cannot be reached').count(), 0)

  await block('routing.dijkstra')
  await goTo('#/map?points=10,50.006;10.012,50.006')
  await page.getByText('The gateway cannot be reached').waitFor()
  await page.unroute('**/jsonrpc')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('.roads').waitFor()
  t.equal(await page.getByText('The gateway cannot be reached').count(), 0)
})
