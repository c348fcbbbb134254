// Screenshot of the console's map page with a route around the demo flood.
import { chromium } from 'playwright-core'

export const CHROMIUM = '/usr/bin/chromium'
/** WebGL without a graphics card, and no requests of the browser's own. */
const ARGS = ['--no-sandbox', '--disable-background-networking', '--disable-sync', '--use-angle=swiftshader']

export function startBrowser() {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS })
}

/** @returns the bytes of a PNG */
export async function photographConsole({ gateway, start, goal }) {
  const browser = await startBrowser()
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme: 'light',
      locale: 'en-GB',
      timezoneId: 'UTC',
    })
    const page = await context.newPage()
    await page.goto(`${gateway.url}/console/`)
    await page.getByLabel('API key').fill(gateway.headers.APIKey)
    await page.getByLabel('Secret').fill(gateway.headers.Secret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Map and routes' }).click()
    await page.getByRole('checkbox', { name: 'flood' }).first().check()
    for (const point of [start, goal]) {
      await page.getByLabel('Add a point').fill(point.map((degrees) => degrees.toFixed(5)).join(', '))
      await page.getByRole('button', { name: 'Add', exact: true }).click()
    }
    await page.locator('.totals').first().waitFor()
    await page.waitForTimeout(5000) // the map moves to the route and draws its tiles
    return await page.screenshot()
  } finally {
    await browser.close()
  }
}
