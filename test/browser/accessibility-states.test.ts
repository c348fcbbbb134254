import t from 'tap'
import { axeFaults } from '../support/axe.js'
import { type ConsolePage, drop, missingChromium, openConsole, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'
import type { KeyPair } from '../support/start-gateway.js'

const skip = missingChromium
const MAP =
  '#/map?points=10,50.006;10.012,50.006&theme=flood:0,0,0,0,0,0,0,0,0,0,9&at=2026-01-01T10:30:00.000Z&routes=2&minutes=1,2&events=flood&records=brush&brush=2026-01-01T10:00:00.000Z/2026-01-01T10:40:00.000Z&view=10.006,50.006,13'
const FILTERED = '#/tables/flood?sort=-risk&where=[["risk",">","1"],["cell","=","1"]]'

/** Signs in, in any language. */
async function enter({ page }: ConsolePage, { apiKey, secret }: KeyPair, language: string): Promise<void> {
  await page.locator('select[name=language]').selectOption(language)
  await page.locator('input[name=key]').fill(apiKey)
  await page.locator('input[name=secret]').fill(secret)
  await page.locator('form button.main').click()
  await page.locator('nav').waitFor({ state: 'attached' })
}

/** States that pages are in while somebody works with them: name → steps that lead there. */
const STATES: Record<string, (view: ConsolePage) => Promise<void>> = {
  async 'import preview'(view) {
    await view.goTo('#/import')
    const lines = Array.from({ length: 30 }, (_, n) => `g${n % 20},2026-01-01,${n},10.0${n},50`)
    await drop(view, 'rain.csv', `gauge,time,mm,lng,lat\n${lines.join('\n')}\n`)
    await view.page.locator('.preview tbody tr').first().waitFor()
    await view.page.locator('.small-map').scrollIntoViewIfNeeded() // the map is made when it is seen
    await view.page.locator('.small-map canvas').waitFor()
  },
  async 'grid with filters'({ page, goTo }) {
    await goTo(FILTERED)
    await page.locator('.chip').first().waitFor()
    await page.locator('tbody tr').first().click()
    await page.locator('tr.chosen').waitFor()
  },
  async 'row editor'({ page }) {
    await page.locator('tbody tr button').last().click()
    await page.locator('dialog[open] input').first().waitFor()
  },
  async 'row editor of a dataset'({ page, goTo }) {
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await goTo('#/datasets/set/gauges')
    await page.locator('tbody tr button').first().click()
    await page.locator('dialog[open] input').first().waitFor()
  },
  async 'routes, isochrones, marked time, area that is drawn'({ page, goTo }) {
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await goTo(MAP)
    await page.locator('.roads').waitFor()
    await page.locator('.swatches li').first().waitFor()
    for (const summary of await page.locator('.map-panel summary').all()) await summary.click()
    await page.locator('input[name=corner]').fill('nowhere')
    await page.locator('input[name=corner]').press('Enter')
    await page.locator('input[name=corner]').fill('10.003, 50.003')
    await page.locator('input[name=corner]').press('Enter')
  },
  async 'explorer after Send'({ page, goTo }) {
    await goTo('#/api/routing.list_maps')
    await page.locator('main button.main').click()
    await page.locator('.notice.good').waitFor()
  },
}

t.test('console: no state of a page has an accessibility fault', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await fillGateway(gateway)
  const browser = await startBrowser(t)
  for (const { language, ...options } of [
    { width: 1280, theme: 'light' as const, language: 'en' },
    { width: 360, height: 740, theme: 'dark' as const, language: 'ja' },
  ]) {
    const view = await openConsole(browser, gateway.url, options)
    await enter(view, gateway.admin, language)
    const faults: string[] = []
    for (const [name, reach] of Object.entries(STATES)) {
      await reach(view)
      await view.page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
      faults.push(...(await axeFaults(view, name)))
      const overflow = await view.page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
      t.ok(Number(overflow) <= 0, `${name} fits ${options.width} px`)
    }
    t.same(faults, [], `${options.width} px, ${options.theme}, ${language}`)
    t.same(view.complaints, [])
  }
})
