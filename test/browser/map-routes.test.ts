import t from 'tap'
import { type ConsolePage, missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { addFlood, townGateway } from '../support/console-gateway.js'
import { until } from '../support/models.js'

const skip = missingChromium
/** A route along the middle row of the town, whose middle is the middle of the map. */
const ROUTE = 'points=10,50.006;10.012,50.006&view=10.006,50.006,14'
const CURVE = '0,0.1,0.2,0.5,1,2,5,20,100,1000,9999'
const FLOOD = `theme=flood:${CURVE}&at=2026-01-01T10:30:00.000Z`

/** Script of the page that keeps the largest number of searches under way at one time. */
const COUNT_ROUTES = `(() => {
  const send = window.fetch
  let open = 0
  window.mostRoutes = 0
  window.fetch = async (...request) => {
    if (!String(request[1]?.body).includes('dijkstra')) return await send(...request)
    open++
    window.mostRoutes = Math.max(window.mostRoutes, open)
    try {
      return await send(...request)
    } finally {
      open--
    }
  }
})()`

const isRoute = (request: { postData(): string | null }) => request.postData()?.includes('dijkstra') === true

const textOf = async ({ page }: ConsolePage, selector: string) =>
  (await page.locator(selector).first().textContent()) ?? ''

t.test(
  'map: the route around the risk is compared with the fastest, along the way, too; a link carries all of it',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await addFlood(gateway)
    const browser = await startBrowser(t)
    const view = await openConsole(browser, gateway.url)
    const { page, goTo, complaints } = view
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await signIn(view, gateway.admin)
    await goTo(`#/map?${ROUTE}&${FLOOD}&routes=2`)
    await page.getByText(/highest risk 10 → 0, exposure −100\s%/).waitFor()
    await page.getByText(/^\d routes computed in [\d.,]+ ms$/).waitFor()
    const routes = page.getByRole('group', { name: 'Routes found' }).getByRole('button')
    await until('an alternative is there, too', async () => (await routes.count()) > 2)
    t.match(await routes.first().textContent(), /^Around risk.*risk up to\s0, exposure\s0$/)

    await page.getByRole('button', { name: /^Fastest/ }).click()
    await page.locator('.totals div', { hasText: 'Highest risk' }).getByText('10', { exact: true }).waitFor()
    t.equal(await page.getByRole('button', { name: /^Fastest/ }).getAttribute('aria-pressed'), 'true')
    t.equal(await page.getByRole('button', { name: /^Around/ }).getAttribute('aria-pressed'), 'false')
    const rows = page.getByRole('region', { name: 'Roads on the route' }).locator('tbody tr')
    t.equal(await rows.count(), 1, 'six roads of one name are one row')
    t.match(await rows.textContent(), /^Row 3/)
    const frame = await page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.querySelector('.roads .scroll')
      return scrollWidth - clientWidth
    })()`)
    t.equal(frame, 0, 'the table fits its frame')
    const below = await page.evaluate('document.documentElement.scrollHeight - window.innerHeight')
    t.equal(below, 0, 'the page is as high as the window: the panel scrolls')
    t.equal(await page.locator('.totals div', { hasText: 'Cost' }).count(), 0, 'its cost leaves the risk out')

    const profile = page.getByRole('slider', { name: 'Risk along the route' })
    const canvas = page.locator('canvas')
    const before = await canvas.screenshot()
    await profile.focus()
    await page.keyboard.press('End')
    t.match(await profile.getAttribute('aria-valuetext'), /^8[56]\d m · Row 3 .* · risk 0$/)
    for (let i = 0; i < 5; i++) await page.keyboard.press('PageDown')
    t.match(await profile.getAttribute('aria-valuetext'), /^4[23]\d m · .* · risk 10$/)
    await until('the place is marked on the map', async () => !before.equals(await canvas.screenshot()))

    await page.getByRole('button', { name: 'Copy link' }).click()
    const link = String(await page.evaluate('navigator.clipboard.readText()'))
    t.ok(link.startsWith(`${gateway.url}/console/#/map?`), link)
    t.match(link, /chosen=fastest/)
    const other = await openConsole(browser, gateway.url)
    await other.goTo(link.slice(link.indexOf('#'))) // kept through the sign-in
    await signIn(other, gateway.admin)
    await other.page.getByText(/highest risk 10 → 0/).waitFor()
    await until(
      'the same route is chosen',
      async () => (await textOf(other, '.totals')) === (await textOf(view, '.totals')),
    )
    t.equal(await textOf(other, '.gained'), await textOf(view, '.gained'))
    t.equal(await textOf(other, '.moment'), await textOf(view, '.moment'))
    t.ok(await other.page.getByRole('checkbox', { name: 'flood' }).first().isChecked())
    t.equal(await other.page.locator('.points li').count(), 2)
    // a reload keeps the session, and the question is in the address
    await other.page.reload()
    await other.page.getByText(/highest risk 10 → 0/).waitFor()
    t.equal(await other.page.locator('.points li').count(), 2)
    t.same([...complaints, ...other.complaints], [])
  },
)

t.test('map: on a narrow page a whole route is above the legend', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url, { width: 360, height: 640 })
  const { page, goTo } = view
  await signIn(view, gateway.admin)
  const answered = page.waitForResponse((response) => isRoute(response.request()))
  // the way around, along the southern edge of the town, leaves the box of its ends
  await goTo(`#/map?points=10,50.0055;10.012,50.0055&${FLOOD}`)
  await page.getByText(/highest risk 10 → 0/).waitFor()
  const places = JSON.stringify(await (await answered).json()).match(/\[1[\d.]+,50[\d.]*\]/g) ?? []
  const lats = places.map((place) => JSON.parse(place)[1] as number)
  t.ok(lats.length > 10, 'the answer has places')
  const free = async () => {
    const box = await page.locator('.map-box').boundingBox()
    const legend = await page.locator('.map-legend').boundingBox()
    const [, lat, zoom] = /view=[\d.]+,([\d.]+),([\d.]+)/.exec(page.url())?.map(Number) ?? []
    if (box === null || legend === null || lat === undefined || zoom === undefined) return undefined
    const middle = box.y + box.height / 2
    const yOf = (degrees: number) => middle + (mercatorOf(lat) - mercatorOf(degrees)) * 512 * 2 ** zoom
    return {
      above: yOf(Math.max(...lats)) - box.y,
      below: legend.y - yOf(Math.min(...lats)),
    }
  }
  await until('the map has moved to the route', async () => {
    const { above, below } = (await free()) ?? { above: 0, below: 0 }
    return above > 0 && below > 0
  })
  t.pass('it is seen as a whole')
})

/** Part of the height of the world at zoom 0, from its middle. */
function mercatorOf(lat: number): number {
  return Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) / (2 * Math.PI)
}

t.test('map: the last route of a drag is shown before the map has drawn it', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url, { width: 1000, height: 600 })
  const { page, goTo } = view
  await signIn(view, gateway.admin)
  await page.route('**/tiles/**', () => undefined) // the map is not finished without its tiles
  await goTo(`#/map?${ROUTE}&${FLOOD}`)
  await page.getByText(/highest risk 10 → 0/).waitFor()
  const slide = (iso: string, event: string) =>
    page.evaluate(`(() => {
      const slider = document.querySelector('.timeline .slider')
      const from = ${Date.parse('2026-01-01T10:00:00Z')}
      const to = ${Date.parse('2026-01-01T12:00:00Z')}
      slider.value = String(Math.round((Number(slider.max) * (${Date.parse(iso)} - from)) / (to - from)))
      slider.dispatchEvent(new Event('${event}'))
    })()`)
  const height = async () =>
    Number(await page.evaluate(`document.querySelector('.live-lines')?.clientHeight`))
  await page.locator('.timeline .ends', { hasText: '12:00' }).waitFor() // the line covers the data
  await slide('2026-01-01T10:40:00Z', 'input')
  await until('the way around is drawn', async () => (await height()) > 60)
  await slide('2026-01-01T11:40:00Z', 'change')
  await page.getByText('The fastest route has no risk.').waitFor()
  await until('the straight way is drawn', async () => (await height()) < 40)
  t.pass('while the map waits')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

t.test(
  'map: the route follows a pin and its own line while they are dragged, one request at a time',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await addFlood(gateway)
    const view = await openConsole(await startBrowser(t), gateway.url, { width: 1000, height: 600 })
    const { page, goTo, complaints } = view
    await signIn(view, gateway.admin)
    await goTo(`#/map?${ROUTE}&${FLOOD}`)
    await page.getByText(/highest risk 10 → 0/).waitFor()
    await page.evaluate(COUNT_ROUTES)

    const seen = new Set<string>()
    const note = async () => seen.add(await textOf(view, '.totals'))
    const pin = await page.locator('.pin-box').first().boundingBox()
    if (pin === null) throw new Error('the start has no pin')
    const [x, y] = [pin.x + pin.width / 2, pin.y + pin.height / 2]
    await page.mouse.move(x, y)
    await page.mouse.down()
    for (let step = 1; seen.size < 4 && step < 200; step++) {
      await page.mouse.move(x + (step % 20) * 5, y - (step % 20) * 4)
      await note()
    }
    t.ok(seen.size >= 4, 'the figures change before the pin is dropped')
    t.equal(await page.locator('.roads').count(), 0, 'the table waits for the end of the drag')
    const isDrawn = `(() => {
      const canvas = document.querySelector('.live-lines')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return data.some((value) => value > 0)
    })()`
    t.equal(await page.evaluate(isDrawn), true, 'the lines of the drag are drawn over the map')
    await page.mouse.up()
    await page.locator('.roads').waitFor()
    await page.locator('.live-lines').waitFor({ state: 'detached' })
    const most = Number(await page.evaluate('window.mostRoutes'))
    t.ok(most >= 1 && most <= 2, `requests do not pile up, the drop ends the one before: ${most}`)

    await goTo(`#/map?${ROUTE}`)
    await page.locator('.roads').waitFor()
    const canvas = page.locator('canvas')
    const box = await canvas.boundingBox()
    if (box === null) throw new Error('the map has no box')
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
    await until('the line is drawn and can be seized', async () => {
      await page.mouse.move(middle.x + 8, middle.y)
      await page.mouse.move(middle.x, middle.y)
      return (
        (await canvas.evaluate((element: { style: { cursor: string } }) => element.style.cursor)) === 'grab'
      )
    })
    const straight = await textOf(view, '.totals')
    await page.mouse.down()
    await page.mouse.move(middle.x, middle.y - 20)
    await page.mouse.move(middle.x, middle.y - 90)
    await page.getByText(/^Via 1: /).waitFor()
    await until('the route goes there', async () => (await textOf(view, '.totals')) !== straight)
    await page.mouse.up()
    t.equal(await page.locator('.points li').count(), 3)
    t.match(await textOf(view, '.points li:nth-child(2) .place'), /^Via 1: 10\.00\d+, 50\.0[01]\d+$/)
    await until('the link has it', async () => /points=10,50.006;10\.0\d+,50\.\d+;/.test(page.url()))

    await page.locator('.pin-box').nth(1).focus()
    await page.keyboard.press('Delete')
    await until('the via point is gone', async () => (await page.locator('.points li').count()) === 2)
    await page.locator('.pin-box').first().focus()
    await page.keyboard.press('ArrowRight')
    await until('the start moved', async () => !/points=10,50\.006;/.test(page.url()))

    // kilometres beyond the town there is no route: the last one stays until the drop
    await goTo('#/map?points=10,50.006;10.012,50.006&view=10.006,50.006,11')
    await page.locator('.roads').waitFor()
    const start = await page.locator('.pin-box').first().boundingBox()
    if (start === null) throw new Error('the start has no pin')
    await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2)
    await page.mouse.down()
    const refused = page.waitForResponse(
      async (response) => isRoute(response.request()) && (await response.text()).includes('OUTSIDE_MAP'),
    )
    await page.mouse.move(box.x + 30, box.y + 40, { steps: 5 })
    await refused
    t.equal(await page.getByRole('alert').count(), 0)
    t.equal(await page.locator('.totals').count(), 1)
    await page.mouse.up()
    await page.getByRole('alert').getByText('OUTSIDE_MAP').waitFor()
    t.equal(await page.locator('.totals').count(), 0)
    t.same(complaints, [])
  },
)

t.test('map: isochrones have a legend of their minutes, and follow the start', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url, {
    width: 360,
    height: 740,
    theme: 'dark',
  })
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/map')
  await page.getByText('Isochrones').click()
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('Set the start of the route first.').waitFor()
  await page.getByLabel('Minutes, separated by commas').fill('1, nothing')
  await page.getByLabel('Add a point').fill('10.000, 50.006')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('Enter 1 to 10 numbers of minutes above 0').waitFor()
  await page.getByLabel('Minutes, separated by commas').fill('2 1,0.5')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  const legend = page.getByRole('list', { name: 'Isochrones' }).getByRole('listitem')
  await until('there are three areas', async () => (await legend.count()) === 3)
  t.same(await legend.allTextContents(), ['0.5 min', '1 min', '2 min'])
  const again = page.waitForResponse(
    (response) => response.request().postData()?.includes('routing.isochrone') === true,
  )
  await page.locator('.pin-box').first().focus()
  await page.keyboard.press('Shift+ArrowRight')
  t.equal((await (await again).json()).result.features.length, 3)
  t.match(page.url(), /minutes=0\.5,1,2/)
  await page.getByRole('button', { name: 'Clear' }).last().click()
  await until('the areas are gone', async () => (await legend.count()) === 0)
  t.same(complaints, [])
})

t.test('map: a link without a view opens on its route', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/map?points=10.002,50.002;10.004,50.004')
  await until('the address has the view', () => /[?&]view=/.test(page.url()))
  const [lng = 0, lat = 0, zoom = 0] = (new URLSearchParams(page.url().split('?')[1]).get('view') ?? '')
    .split(',')
    .map(Number)
  t.same([lng.toFixed(3), lat.toFixed(3)], ['10.003', '50.003'], 'in the middle of the points')
  t.ok(zoom > 14.5, `closer than the whole map: ${zoom}`)
  t.same(complaints, [])
})

t.test('map: a link without a view shows the whole route around risk', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  // the flood leaves the rows north and south of it, which a low map does not show with the points
  const view = await openConsole(await startBrowser(t), gateway.url, { height: 320 })
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo(`#/map?points=10,50.006;10.012,50.006&${FLOOD}`)
  await page.getByText(/highest risk 10 → 0, exposure −100\s%/).waitFor()
  await until('the map has moved to the route', () => {
    const [, lat = 0] = (new URLSearchParams(page.url().split('?')[1]).get('view') ?? '')
      .split(',')
      .map(Number)
    return Math.abs(lat - 50.006) > 0.002
  })
  t.same(complaints, [])
})

t.test('map: a route around risk that lowers nothing is not announced as a gain', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await page.route('**/jsonrpc', async (route) => {
    if (!isRoute(route.request())) return await route.continue()
    const response = await route.fetch()
    const answers = (await response.json()) as { id: number; result: object }[]
    const json = answers.map((answer) =>
      answer.id === 0 ? { ...answer, result: { ...answer.result, max_risk: 10, exposure: 99 } } : answer,
    )
    await route.fulfill({ response, json })
  })
  await goTo(`#/map?${ROUTE}&${FLOOD}`)
  await page
    .getByText(/^Neither the highest risk nor the exposure is lower: \+.*highest risk 10 → 10, exposure \+/)
    .waitFor()
  t.ok(await page.locator('.map-legend').isVisible())
  t.same(complaints, [])
})
