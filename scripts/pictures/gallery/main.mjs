// Pictures of every page of the console, and what is wrong with their layout.
// npm run picture -- FOLDER [--map FILE.graph --centre LNG,LAT] [--only PART] [--variant 360-ja-dark]
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway } from '../../bench/gateway.mjs'
import { CHROMIUM, startBrowser } from '../console.mjs'
import { callerOf, fillGateways, NEIGHBOURS } from './fill.mjs'
import { layoutFaults } from './measure.mjs'
import { hubViews, viewsOf } from './views.mjs'

const VARIANTS = [1440, 360].flatMap((width) =>
  ['en', 'ja'].flatMap((language) => ['light', 'dark'].map((theme) => ({ width, language, theme }))),
)
/** Town of the demonstration. */
const TOWN = { centre: [141.9995, 35.0], mapName: 'demo-town' }
const AVOID = '0,1,2,4,8,16,32,64,128,512,9999'

/** Makes the pictures. @param words of the command line */
export async function makeGallery(words) {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: Object.fromEntries(
      ['map', 'centre', 'only', 'variant'].map((name) => [name, { type: 'string' }]),
    ),
  })
  const [folder] = positionals
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is not installed`)
  mkdirSync(folder, { recursive: true })
  const place =
    values.map === undefined
      ? TOWN
      : { centre: values.centre.split(',').map(Number), mapName: path.basename(values.map, '.graph') }
  const edge = await startGateway({ args: ['--demo'], env: NEIGHBOURS, dataDir: withMap(values.map) })
  const hub = await startGateway({ env: NEIGHBOURS })
  const browser = await startBrowser()
  try {
    await fillGateways(edge, hub, place.centre)
    const [member] = await (await callerOf(hub))('fleet.list_gateways')
    const facts = { question: questionOf(place), centre: place.centre, folder }
    const isWanted = ([name]) => values.only === undefined || new RegExp(values.only).test(name)
    const all = [
      { gateway: edge, views: viewsOf(facts).filter(isWanted) },
      { gateway: hub, views: hubViews(member?.node ?? '').filter(isWanted) },
    ]
    const wanted = VARIANTS.filter(
      (each) => values.variant === undefined || nameOf(each).match(values.variant),
    )
    for (const variant of wanted)
      for (const { gateway, views } of all)
        if (views.length > 0) await photograph({ browser, gateway, views, variant, folder })
  } finally {
    await browser.close()
    await Promise.all([edge.stop(), hub.stop()])
  }
}

/** Data directory with a map and the base map beside it. */
function withMap(file) {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-pictures-'))
  if (file === undefined) return dataDir
  const maps = path.join(dataDir, 'maps')
  mkdirSync(maps)
  for (const each of [file, file.replace(/\.graph$/, '.mbtiles')])
    if (existsSync(each)) copyFileSync(each, path.join(maps, path.basename(each)))
  return dataDir
}

function questionOf({ centre: [lng, lat], mapName }) {
  const ends = [
    [lng - 0.012, lat + 0.01],
    [lng + 0.01, lat - 0.011],
  ]
  const points = ends.map((point) => point.map((degrees) => degrees.toFixed(5)).join(',')).join(';')
  return `map=${mapName}&points=${points}&theme=river:${AVOID}&at=${new Date().toISOString()}`
}

const nameOf = ({ width, language, theme }) => `${width}-${language}-${theme}`

async function photograph({ browser, gateway, views, variant, folder }) {
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
    const isMap = name.startsWith('map-') && width > 900
    const file = path.join(folder, `${name}-${nameOf(variant)}.png`)
    await page.screenshot({ path: file, fullPage: fullPage && !isMap })
    for (const fault of await page.evaluate(layoutFaults)) console.log(`${nameOf(variant)} ${name}: ${fault}`)
  }
  await take('sign-in', false)
  await page.locator('input[name=key]').fill(gateway.headers.APIKey)
  await page.locator('input[type=password]').fill(gateway.headers.Secret)
  await page.locator('button.main').click()
  await page.locator('.shell').waitFor()
  for (const [name, address, act] of views) {
    try {
      await page.evaluate((hash) => {
        location.hash = '#/help/none' // so that the same page is made again
        setTimeout(() => {
          location.hash = hash
        }, 50)
      }, address)
      await page.waitForTimeout(200)
      await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null)
      await act?.(page)
      await take(name, true)
      await page.keyboard.press('Escape')
    } catch (error) {
      console.log(`${nameOf(variant)} ${name}: ${error.message.split('\n')[0]}`)
    }
  }
  await context.close()
}
