import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { KeyPair } from './start-gateway.js'

const CHROMIUM = '/usr/bin/chromium'

/** Why tests in a browser are left out; false when it is there. For tap's `skip` option. */
export const missingChromium: string | false = existsSync(CHROMIUM)
  ? false
  : `skipped: ${CHROMIUM} is not installed`

/** Nothing of the browser's own goes out, and WebGL is drawn without a graphics card. */
const ARGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--use-angle=swiftshader',
]
/** What a slow machine may take for one step. */
const PATIENCE_MS = 60_000

export interface ConsolePage {
  readonly page: Page
  /** errors on the page's console, faults of its scripts, and requests to anywhere else: none are wanted */
  readonly complaints: string[]
  goTo(address: string): Promise<void>
}

export interface PageOptions {
  width?: number
  height?: number
  theme?: 'light' | 'dark'
}

type TestLike = { teardown(work: () => unknown): unknown }

export async function startBrowser(t: TestLike): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS })
  t.teardown(() => browser.close())
  return browser
}

/** A page of the console, not yet signed in. */
export async function openConsole(
  browser: Browser,
  url: string,
  options: PageOptions = {},
): Promise<ConsolePage> {
  const view = await openAddress(browser, `${url}/console/`, options)
  await view.page.locator('input[name=key]').waitFor() // the page asks the gateway first
  return view
}

/** A page of the console at an address, such as a link that signs in. */
export async function openAddress(
  browser: Browser,
  address: string,
  { width = 1280, height = 800, theme = 'light' }: PageOptions = {},
): Promise<ConsolePage> {
  const url = new URL(address).origin
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    acceptDownloads: true,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`fault: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(blob|data):/.test(request.url()))
      complaints.push(`request to another host: ${request.url()}`)
  })
  await page.goto(address)
  const goTo = async (address: string) => {
    // the page has changed when the browser reports the new address, which is a little later
    await page.evaluate(`new Promise((resolve) => {
      if (location.hash === ${JSON.stringify(address)}) return resolve()
      addEventListener('hashchange', () => setTimeout(resolve), { once: true })
      location.hash = ${JSON.stringify(address)}
    })`)
  }
  return { page, complaints, goTo }
}

export async function signIn({ page }: ConsolePage, { apiKey, secret }: KeyPair): Promise<void> {
  await page.getByLabel('API key').fill(apiKey)
  await page.getByLabel('Secret').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page
    .getByRole('navigation')
    .or(page.getByRole('button', { name: 'Menu' }))
    .first()
    .waitFor()
}

/** Drops a file on the page, as a user does with the mouse. */
export async function drop({ page }: ConsolePage, name: string, content: string | Buffer): Promise<void> {
  const base64 = Buffer.from(content).toString('base64')
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob(${JSON.stringify(base64)}), (c) => c.charCodeAt(0))
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([bytes], ${JSON.stringify(name)}))
    for (const type of ['dragenter', 'dragover', 'drop'])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  })()`)
}
