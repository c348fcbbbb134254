// Takes the pictures of one variant: width, language and theme.
import { copyFileSync } from 'node:fs'
import { layoutFaults } from './measure.mjs'

export const VARIANTS = [1440, 360].flatMap((width) =>
  ['en', 'ja'].flatMap((language) => ['light', 'dark'].map((theme) => ({ width, language, theme }))),
)

export const nameOf = ({ width, language, theme }) => `${width}-${language}-${theme}`

/**
 * Photographs views: [name, address, act, { before, isBusy }]. `act` is what is done on the page, `before` what
 * is set up before the page is opened; each may return a function that ends it. `isBusy`: the page stays so.
 *
 * @param filesOf files that a picture of a name is written to; none when it is not wanted
 */
export async function photograph({ browser, gateway, views, variant, filesOf }) {
  const { width, language, theme } = variant
  const context = await browser.newContext({
    viewport: { width, height: width > 900 ? 900 : 740 },
    colorScheme: theme,
    locale: language === 'ja' ? 'ja-JP' : 'en-GB',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => console.log(`${nameOf(variant)}: fault of a script: ${error.message}`))
  await page.goto(`${gateway.url}/console/`)
  await page.locator('input[name=key]').waitFor()
  const take = async (name, fullPage) => {
    const [file, ...copies] = filesOf(name)
    if (file === undefined) return
    const isMap = /(^|-)(map|drag|base)(-|$)/.test(name) && width > 900
    const map = page.locator('main .small-map:not([hidden])').first()
    if (fullPage && (await map.count()) > 0) {
      await map.scrollIntoViewIfNeeded() // it is made when it is seen, and its roads come last
      const roads = map.locator('.maplibregl-ctrl-attrib-inner:not(:empty)')
      await roads.waitFor({ timeout: 15_000 }).catch(() => undefined) // a gateway without maps has none
      await page.waitForTimeout(2500)
    }
    if (fullPage && !isMap) await page.evaluate(() => window.scrollTo(0, 0)) // what is sticky lies where it begins
    await page.screenshot({ path: file, fullPage: fullPage && !isMap })
    for (const copy of copies) copyFileSync(file, copy)
    for (const fault of await page.evaluate(layoutFaults)) console.log(`${nameOf(variant)} ${name}: ${fault}`)
  }
  await take('sign-in', false)
  for (const [name, address, act, how = {}] of views) {
    try {
      await signIn(page, gateway)
      const undo = await how.before?.(page)
      await open(page, address, how)
      const end = await act?.(page)
      await take(name, true)
      if (typeof end === 'function') await end()
      if (typeof undo === 'function') await undo()
      await page.keyboard.press('Escape')
    } catch (error) {
      console.log(`${nameOf(variant)} ${name}: ${error.message.split('\n')[0]}`)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await context.close()
}

/** Signs in where the page asks for it: at first, and after a view that ended the session. */
async function signIn(page, gateway) {
  if (await page.locator('.shell').isVisible()) return
  await page.goto(`${gateway.url}/console/`)
  await page.reload()
  await page.locator('.shell, input[name=key]').waitFor()
  if (await page.locator('.shell').isVisible()) return // a session that the page has kept
  await page.locator('input[name=key]').fill(gateway.headers.APIKey)
  await page.locator('input[type=password]').fill(gateway.headers.Secret)
  await page.locator('button.main').click()
  await page.locator('.shell').waitFor()
}

async function open(page, address, { isBusy = false }) {
  await page.evaluate((hash) => {
    location.hash = '#/nowhere' // so that the same page is made again
    setTimeout(() => {
      location.hash = hash
    }, 50)
  }, address)
  await page.waitForTimeout(200)
  if (!isBusy) await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null)
}
