// Chromium for the bench of the console, and its protocol.
import { chromium } from 'playwright-core'

export const CHROMIUM = '/usr/bin/chromium'
/** WebGL without a graphics card, and no requests of the browser's own. */
const ARGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--use-angle=swiftshader',
]

export async function startBrowser() {
  return await chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS })
}

/** A new page with an empty cache. @returns page, its session of the protocol, and what closes both */
export async function newPage(browser, { width = 1280, height = 800 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const protocol = await context.newCDPSession(page)
  return { page, protocol, close: () => context.close() }
}

export async function signIn(page, { headers }) {
  await page.getByLabel('API key').fill(headers.APIKey)
  await page.getByLabel('Secret').fill(headers.Secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Process id of the browser itself. */
export async function browserPid(browser) {
  const protocol = await browser.newBrowserCDPSession()
  const { processInfo } = await protocol.send('SystemInfo.getProcessInfo')
  await protocol.detach()
  return processInfo.find(({ type }) => type === 'browser').id
}
