// Scenes of the map page: the library that is late, roads, ranges of time, minutes, a copied link, and base maps.
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

const CONSOLE = 'dist/console'
/** The map library is the only file of the console that is larger than this, bytes. */
const LIBRARY_BYTES = 500_000

const settle = (ms) => (page) => page.waitForTimeout(ms)

/**
 * @param facts `question`: the query of a route around risk; `centre` of the records; `hasBase`: whether the map has a
 *   base map
 * @returns views of a filled gateway
 */
export function mapScenes({ question, centre, hasBase }) {
  const [lng, lat] = centre
  const view = (zoom) => `view=${lng},${lat},${zoom}`
  return [
    ['task-map-late', `#/map?${question}`, holdLibrary],
    ['map-fastest', `#/map?${question}&chosen=fastest`, settle(5000)],
    ['task-map-roads', `#/map?${question}`, show('.roads')],
    ['task-map-range', `#/map?events=incidents&records=brush&${brush()}&${view(13)}`, show('.timeline')],
    ['task-map-minutes', `#/map?${question}&minutes=2,4,8`, show('.swatches')],
    ['task-map-link', `#/map?${question}`, copyLink],
    ...(hasBase
      ? [
          ['base-wide', `#/map?${view(11)}`, still],
          ['base-town', `#/map?${view(14)}`, still],
          ['base-near', `#/map?${view(16.5)}`, still],
          ['base-route', `#/map?${question}`, still],
          ['base-place', `#/map?${view(14)}`, findPlace],
        ]
      : []),
  ]
}

/** Waits until the map draws nothing more: a base map has many tiles. */
async function still(page) {
  const look = () => page.locator('.map-box').screenshot()
  await page.waitForTimeout(3000)
  for (let [tries, seen, now] = [0, await look(), undefined]; tries < 10; tries++) {
    await page.waitForTimeout(1500)
    now = await look()
    if (now.equals(seen)) return
    seen = now
  }
}

/** Range of times of the last 40 to 10 days, in which the records lie. */
function brush() {
  const dayMs = 86_400_000
  return `brush=${[40, 10].map((days) => new Date(Date.now() - days * dayMs).toISOString()).join('/')}`
}

/** Opens the page anew, on a link so slow that the map library does not come. */
async function holdLibrary(page) {
  const library = readdirSync(CONSOLE).find(
    (file) => file.endsWith('.js') && statSync(path.join(CONSOLE, file)).size > LIBRARY_BYTES,
  )
  const held = []
  await page.route(`**/${library}`, (route) => void held.push(route))
  await page.reload()
  await page.locator('.totals').first().waitFor()
  return () => Promise.all(held.map((route) => route.abort().catch(() => undefined)))
}

/** Searches a place by a part of its name. */
async function findPlace(page) {
  await page.waitForTimeout(3000)
  await page.locator('form[role=search] input').fill('rua')
  await page.locator('.places li').first().waitFor()
  await page.locator('.places li').first().scrollIntoViewIfNeeded()
  await page.waitForTimeout(1000)
}

/** Brings a part of the panel into view. */
const show = (selector) => async (page) => {
  await page.waitForTimeout(4000)
  await page.locator(selector).first().scrollIntoViewIfNeeded()
}

async function copyLink(page) {
  await page.waitForTimeout(4000)
  await page.locator('section[aria-labelledby=route-title] > .row .button').last().click()
  await page.waitForTimeout(300)
}
