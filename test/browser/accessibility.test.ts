import t from 'tap'
import { axeFaults } from '../support/axe.js'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'
import { setProfile } from '../support/fleet.js'
import { addGateways } from '../support/many-gateways.js'

const skip = missingChromium

/** A map with routes, areas and records. */
const ROUTE =
  '#/map?points=10,50.006;10.012,50.006&theme=flood:0,0,0,0,0,0,0,0,0,0,9&at=2026-01-01T10:30:00.000Z&routes=2&minutes=1,2&events=flood'

const PAGES = [
  ...[
    '#/home',
    '#/map',
    ROUTE,
    '#/tables',
    '#/tables/flood',
    '#/import',
    '#/datasets',
    '#/datasets/set/gauges',
    '#/models',
    '#/models/rain',
  ],
  ...[
    '#/modules',
    '#/outbox',
    '#/fleet',
    '#/fleet/profile/field',
    '#/sessions',
    '#/health',
    '#/api',
    '#/api/routing.dijkstra',
    '#/help',
    '#/nowhere',
  ],
]

t.test(
  'console: no page has an accessibility fault, in either theme, wide or narrow',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await fillGateway(gateway)
    await setProfile(gateway, { up: [{ table: 'flood' }] })
    addGateways(gateway, 120)
    const browser = await startBrowser(t)
    for (const options of [
      { width: 1280, theme: 'light' as const },
      { width: 360, height: 740, theme: 'dark' as const },
    ]) {
      const view = await openConsole(browser, gateway.url, options)
      const { page, goTo, complaints } = view
      const faults = await axeFaults(view, 'sign-in')
      await signIn(view, gateway.admin)
      for (const address of PAGES) {
        await goTo(address)
        if (address === '#/map') await page.locator('canvas').waitFor()
        if (address === ROUTE) await page.locator('.roads').waitFor()
        if (address === '#/fleet') {
          await page.getByText('Map of the gateways').click()
          await page.locator('.fleet-map canvas').waitFor()
        }
        await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
        faults.push(...(await axeFaults(view, address)))
        const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
        t.ok(Number(overflow) <= 0, `${address} fits ${options.width} px`)
      }
      await goTo('#/datasets')
      await page
        .getByRole('link', { name: /^report_/ })
        .first()
        .click()
      await page.getByRole('heading', { name: /^Citation report_/ }).waitFor()
      await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
      faults.push(...(await axeFaults(view, 'citation')))
      t.same(faults, [], `${options.width} px, ${options.theme}`)
      t.same(complaints, [])
    }
  },
)
