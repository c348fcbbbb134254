// The console on a slow link: seconds until the sign-in page and the pages behind it take input.
import { newPage } from './browser.mjs'

const BYTES_PER_S = 50_000
/** Round trip that is added to each request, ms. */
const LATENCY_MS = 100
const TARGET_S = 4
const START = '-8.645, 41.15'
const GOAL = '-8.6, 41.165'

/** @returns one row for each page, with an empty cache before the first */
export async function measureStart(browser, world) {
  const { page, protocol, close } = await newPage(browser)
  try {
    await protocol.send('Network.enable')
    let bytes = 0
    protocol.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await protocol.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: LATENCY_MS,
      downloadThroughput: BYTES_PER_S,
      uploadThroughput: BYTES_PER_S,
    })
    const rows = []
    let startedAt = 0
    const measure = async (title, target, act, { isFurther = false } = {}) => {
      if (!isFurther) {
        bytes = 0
        startedAt = performance.now()
      }
      await act()
      await answers(page)
      rows.push({ title, target, seconds: (performance.now() - startedAt) / 1000, kB: bytes / 1000 })
    }
    await measure('sign-in page takes input', TARGET_S, async () => {
      await page.goto(`${world.url}/console/`, { waitUntil: 'commit' })
      await page.getByLabel('API key').fill(world.headers.APIKey)
    })
    await page.getByLabel('Secret').fill(world.headers.Secret)
    await measure('pages take input, signed in at once', TARGET_S, async () => {
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation').first().waitFor()
    })
    await measure('the overview is complete', undefined, async () => {
      await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
    })
    await measure('map page takes input', TARGET_S, async () => {
      await page.evaluate(() => {
        location.hash = '#/map'
      })
      await page.getByLabel('Add a point').fill(START)
    })
    const further = { isFurther: true } // counted from the opening of the page
    await measure(
      'its route is shown: figures and roads',
      undefined,
      async () => {
        await page.getByRole('button', { name: 'Add', exact: true }).click()
        await page.getByLabel('Add a point').fill(GOAL)
        await page.getByRole('button', { name: 'Add', exact: true }).click()
        await page.locator('.roads').waitFor()
      },
      further,
    )
    await measure('its map is there', undefined, () => page.locator('.map-box canvas').waitFor(), further)
    return rows
  } finally {
    await close()
  }
}

/** Waits until the main thread is free for a new task: the page answers. */
async function answers(page) {
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
}
