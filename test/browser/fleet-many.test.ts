import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import { setProfile } from '../support/fleet.js'
import { addGateways } from '../support/many-gateways.js'

const skip = missingChromium
const MANY = 5000

t.test(
  'console: a fleet of thousands is shown by pages, the worst first, and on a map',
  { skip },
  async (t) => {
    const hub = await townGateway(t)
    await setProfile(hub, { up: [{ table: 'seen' }] })
    addGateways(hub, MANY)
    const browser = await startBrowser(t)
    const view = await openConsole(browser, hub.url)
    const { page } = view
    const scripts: string[] = []
    page.on('response', (response) => scripts.push(response.url()))
    await view.goTo('#/fleet') // the first page is a map, unless the address names another
    await signIn(view, hub.admin)
    const list = page.getByRole('table', { name: 'Gateways of this hub' })
    await page.getByText('Gateways: 4,950 · In trouble: 400 · No report for an hour: 100').waitFor()
    t.equal(await list.getByRole('row').count(), 51, 'a page and the head')
    t.match(await list.getByRole('row').nth(1).textContent(), /^gw-00099revoked/)
    await page.getByText('1–50 of 5,000').waitFor()
    const next = page.getByRole('button', { name: 'Next' })
    await next.focus()
    await next.press('Enter')
    await page.getByText('51–100 of 5,000').waitFor()
    await list.getByText('gw-00097').waitFor()
    t.equal(await page.evaluate('document.activeElement.dataset.kind'), 'next', 'the button keeps the focus')

    const behind = page.getByRole('button', { name: /^an hour behind with sending: / })
    await behind.click()
    await page.getByText('1–50 of 250').waitFor()
    t.equal(await behind.getAttribute('aria-pressed'), 'true')
    await list.getByText('12,345 rows, 0 models, 250 kB').first().waitFor()
    await page.getByLabel('Find by name').fill('GW-0319')
    await list.getByText('gw-03190').waitFor()
    t.equal(await list.getByRole('row').count(), 6)
    await behind.click()
    await page.getByLabel('Find by name').fill('nobody')
    await page.getByText('No gateway matches.').waitFor()
    await page.getByLabel('Find by name').fill('gw-03192')
    await list.getByText('gw-03192').waitFor()
    t.equal(await list.getByRole('row').count(), 2)

    const workers = () => scripts.filter((url) => url.includes('map-worker'))
    t.same(workers(), [], 'the map is not loaded until it is opened')
    await page.getByText('Map of the gateways').click()
    const canvas = page.locator('.fleet-map canvas')
    await canvas.waitFor()
    await page.getByText('Gateways that have reported a position: 1').waitFor()
    while (workers().length === 0) await page.waitForTimeout(50) // the words may come before the library
    t.equal(workers().length, 1)
    const popup = page.locator('.maplibregl-popup')
    // the library draws in its own time
    for (let tries = 0; tries < 60 && (await popup.count()) === 0; tries++) {
      await canvas.click()
      await page.waitForTimeout(500)
    }
    await popup.getByText('gw-03192').waitFor()
    await popup.getByText('an hour behind with sending').waitFor()
    await popup.getByRole('link', { name: 'Open the gateway' }).click()
    await page.getByRole('heading', { name: 'gw-03192' }).waitFor()
    t.same(view.complaints, [])
  },
)
