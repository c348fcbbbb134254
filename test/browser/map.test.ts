import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Route } from 'playwright-core'
import t from 'tap'
import { baseOf, createPlot } from '../support/base-maps.js'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { addFlood, townGateway } from '../support/console-gateway.js'
import { until } from '../support/models.js'

const skip = missingChromium

t.test('console: creates a table, imports points and shows them on the map', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await page.getByLabel('API key').fill(gateway.admin.apiKey)
  await page.getByLabel('Secret').fill('fgs_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The API key or the secret is wrong').waitFor()
  t.match(complaints.splice(0), [/401/], 'the browser logs the refusal')
  await signIn(view, gateway.admin)

  await goTo('#/tables')
  await page.getByText('New table').click()
  await page.getByLabel('Table name').fill('sightings')
  await page.getByRole('group', { name: 'Column 1' }).getByLabel('Column', { exact: true }).fill('animal')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'sightings' }).waitFor()

  await page.getByRole('tab', { name: 'Import file' }).click()
  const csv = 'animal,lng,lat\nfox,10.006,50.006\n"owl, small",10.000,50.000\n'
  await page.getByLabel('File', { exact: true }).setInputFiles({
    ...{ name: 'sightings.csv', mimeType: 'text/csv' },
    buffer: Buffer.from(csv),
  })
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('2 records read: 2 inserted').waitFor()
  await page.getByRole('tab', { name: 'Rows' }).click()
  await page.getByRole('cell', { name: 'owl, small' }).waitFor()

  await page.getByRole('link', { name: 'Show on map' }).click()
  await page.getByText('Records shown: 2').waitFor()
  // with the fox in the middle of the map a click there hits it once it is drawn
  await goTo('#/map?events=sightings&view=10.006,50.006,14')
  await page.getByText('Records shown: 2').waitFor()
  const canvas = page.locator('canvas')
  const box = (await canvas.boundingBox()) ?? t.fail('the map has no box')
  const popup = page.locator('.maplibregl-popup-content')
  for (let tries = 0; tries < 60 && (await popup.count()) === 0; tries++) {
    if (typeof box === 'object') await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    await page.waitForTimeout(300)
  }
  t.match((await popup.textContent()) ?? '', /fox/)
  t.same(complaints, [])
})

t.test(
  'console: a route avoids a risk, changes with the slider and the pin, and is downloaded as KML',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await addFlood(gateway)
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, complaints, goTo } = view
    await signIn(view, gateway.admin)
    await goTo('#/map')
    const addPoint = async (text: string) => {
      await page.getByLabel('Add a point').fill(text)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
    }
    await page.getByRole('checkbox', { name: 'flood' }).first().check()
    await page.getByText('Cells shown: 1').waitFor()
    await addPoint('10.000, 50.006')
    await addPoint('10.012, 50.006')
    const highest = async (level: string) =>
      await page
        .locator('.totals div', { hasText: 'Highest risk' })
        .getByText(level, { exact: true })
        .waitFor()
    await highest('0') // round the water
    const lengthOf = async () =>
      await page.locator('.totals div', { hasText: 'Distance' }).locator('b').textContent()
    const around = await lengthOf()

    await page.getByRole('button', { name: 'Ignore' }).click()
    await highest('10') // through it
    t.not(await lengthOf(), around)
    await page.getByRole('button', { name: 'Avoid' }).click()
    await highest('0')

    // to the last quarter of the two hours: the water has gone, the short way is free
    const slider = page.getByRole('slider', { name: 'Time' })
    await slider.focus()
    await page.keyboard.press('End')
    for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowLeft')
    await until('the length is another', async () => (await lengthOf()) !== around)
    const straight = await lengthOf()

    const pin = page.locator('.pin-box').first()
    const from = await pin.boundingBox()
    if (from === null) throw new Error('the start has no pin')
    const [x, y] = [from.x + from.width / 2, from.y + from.height / 2]
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 30, y + 60, { steps: 5 })
    await page.mouse.up()
    await until('the length is another', async () => (await lengthOf()) !== straight)
    t.notMatch(
      (await page.locator('.points li').first().textContent()) ?? '',
      /10\.00000, 50\.00600/,
      'the start was dragged',
    )

    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download KML' }).click()
    const kml = readFileSync(await (await downloading).path(), 'utf8')
    t.match(kml, /<kml xmlns="http:\/\/www\.opengis\.net\/kml\/2\.2">/)
    t.match(kml, /<LineString>/)

    await page.getByText('Isochrones').click()
    const reached = page.waitForResponse(
      (response) => response.request().postData()?.includes('isochrone') === true,
    )
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    t.equal((await (await reached).json()).result.features.length, 3)
    t.same(complaints, [])
  },
)

t.test('console: a base map is drawn, and a place is found by its name', { skip }, async (t) => {
  const plot = createPlot()
  plot.node(0, 0, { place: 'town', name: '試験町', 'name:en': 'Trial Town' })
  plot.way([plot.node(-500, 0), plot.node(500, 0)], { highway: 'primary', name: 'Via Ultima', ref: 'SS 1' })
  for (let i = 1; i <= 9; i++) {
    const ends = [plot.node(-500, 40 * i), plot.node(500, 40 * i)]
    plot.way(ends, { highway: 'residential', name: `Vicolo ${i}` })
  }
  plot.box(-400, 100, 300, { landuse: 'forest' })
  const { file } = await baseOf(t, plot.data())
  const gateway = await townGateway(t, {}, file)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints, goTo } = view
  const tiles: string[] = []
  page.on('response', (response) => {
    if (response.url().includes('/tiles/town/base/')) tiles.push(`${response.status()}`)
  })
  await signIn(view, gateway.admin)
  await goTo('#/map')
  await page.getByLabel('Find a place').fill('trial')
  await page.getByRole('button', { name: '試験町 Trial Town' }).click()
  await until('a tile has come', () => tiles.includes('200'))
  await page.getByLabel('Find a place').fill('nowhere at all')
  await page.getByText('No place has such a name.').waitFor()
  await page.getByLabel('Find a place').fill('ULTI')
  await page.getByText('1 place found').waitFor()
  await page.getByLabel('Find a place').fill('vicolo')
  await page.getByText('The first 8 places are shown.').waitFor()
  t.equal(await page.locator('.places li').count(), 8)
  await page.getByLabel('Find a place').fill('ULTI')
  await page.getByText('1 place found').waitFor()
  await page.getByRole('button', { name: 'Add Via Ultima to the route' }).click()
  await page.locator('.points li').first().waitFor()
  t.equal(await page.locator('.map-status .bad').count(), 0, 'the style is valid, and tiles come')
  t.same(complaints, [])
})

t.test(
  'map: places, route and roads are there before the map library, whose fault can be tried again',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, goTo } = view
    await signIn(view, gateway.admin)
    const library = readdirSync('dist/console').find(
      (file) => file.endsWith('.js') && statSync(path.join('dist/console', file)).size > 500_000,
    )
    const held: Route[] = []
    await page.route(`**/${library}`, (route) => void held.push(route))
    await goTo('#/map?points=10,50.006')
    await page.getByLabel('Add a point').fill('10.012, 50.006')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('.totals').waitFor()
    await page.getByRole('region', { name: 'Roads on the route' }).waitFor()
    await page.getByText('Loading the map').waitFor()
    t.equal(await page.locator('canvas').count(), 0)
    await until('the library was asked for', () => held.length === 1)
    await held[0]?.abort()
    await page.getByRole('button', { name: 'Try again' }).click()
    await until('the library was asked for once more', () => held.length === 2)
    await held[1]?.continue()
    await page.locator('.map-box canvas').waitFor()
    t.equal(await page.locator('.map-loading').count(), 0)
    t.equal(await page.locator('.pin-box').count(), 2, 'the map shows what was set before')
    await page.locator('.pin-box').last().focus()
    await page.keyboard.press('Delete')
    await until('its pins work', async () => (await page.locator('.points li').count()) === 1)
  },
)
