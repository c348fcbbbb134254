// Pages and states of the console that are photographed: a name, an address, and what is done there first.
import { writeFileSync } from 'node:fs'

/** Opens the n-th part of a page that is folded. */
const open = (n) => async (page) => {
  await page.locator('main details > summary').nth(n).click()
  await page.waitForTimeout(300)
}
const openAll = async (page) => {
  await page.waitForTimeout(500)
  await page.evaluate(() => {
    for (const part of document.querySelectorAll('main details')) part.open = true
  })
  await page.waitForTimeout(500)
}
const tab = (n) => async (page) => {
  await page.getByRole('tab').nth(n).click()
  await page.waitForTimeout(500)
}
const settle = (ms) => async (page) => page.waitForTimeout(ms)

/**
 * @param facts `question`: the query of a route around risk; `centre` of the records; `folder` for a file to import
 * @returns views of a filled gateway
 */
export function viewsOf({ question, centre, folder }) {
  const [lng, lat] = centre
  const file = `${folder}/import.csv`
  const lines = Array.from({ length: 60 }, (_, n) => {
    const time = `2026-11-${String((n % 28) + 1).padStart(2, '0')} 08:00:00`
    return [n % 50, time, (lng + n / 5000).toFixed(5), (lat + (n % 7) / 3000).toFixed(5), n / 4, `Point ${n}`]
  })
  const csv = `id,time,lng,lat,depth,note\n${lines.map((line) => line.join(',')).join('\n')}\n`
  const view = `view=${lng},${lat},13`
  return [
    ['home', '#/home'],
    ['map-empty', `#/map?${view}`, settle(2500)],
    ['map-route', `#/map?${question}`, settle(5000)],
    ['map-choices', `#/map?${question}&routes=3`, settle(5000)],
    ['map-isochrones', `#/map?${question}&minutes=3,6,10`, settle(5000)],
    ['map-events', `#/map?events=incidents&events=rain&colour=kind&${view}`, settle(4000)],
    ['map-popup', `#/map?events=incidents&view=${lng},${lat},17`, popup],
    ['tables', '#/tables', open(0)],
    ['table-rows', '#/tables/incidents', settle(2500)],
    ['table-columns', '#/tables/incidents', tab(1)],
    ['table-add', '#/tables/incidents', tab(2)],
    ['table-import', '#/tables/incidents', tab(3)],
    ['table-keep', '#/tables/incidents', tab(4)],
    ['table-cite', '#/tables/incidents', open(0)],
    ['table-remove', '#/tables/incidents', dialog],
    ['table-empty', '#/tables/sensor_03', settle(1000)],
    ['table-edit', '#/tables/incidents', edit],
    ['table-unknown', '#/tables/nothing'],
    ['import', '#/import'],
    ['import-preview', '#/import', preview(file, csv)],
    ['datasets', '#/datasets', openAll],
    ['dataset', '#/datasets/set/gauges', openAll],
    ['citation', '#/datasets', citation],
    ['compare', '#/datasets', compare],
    ['models', '#/models', openAll],
    ['model-store', '#/models/rain-forecast', openAll],
    ['model', '#/models/rain-forecast', oneModel],
    ['model-early', '#/models/early', settle(500)],
    ['modules', '#/modules', openAll],
    ['outbox', '#/outbox', openAll],
    ['fleet', '#/fleet', openAll],
    ['sessions', '#/sessions', openAll],
    ['health', '#/health', settle(4500)],
    ['api', '#/api', settle(500)],
    ['api-method', '#/api/routing.dijkstra', send],
    ['help', '#/help', settle(500)],
    ['nowhere', '#/nowhere'],
  ]
}

/** @returns views of a hub */
export function hubViews(firstGateway) {
  return [
    ['hub-fleet', '#/fleet', openAll],
    ['hub-map', '#/fleet', fleetMap],
    ['hub-gateway', `#/fleet/gateway/${firstGateway}`, settle(1000)],
    ['hub-profile', '#/fleet/profile/field', settle(1000)],
  ]
}

async function popup(page) {
  await page.waitForTimeout(4000)
  const box = await page.locator('.map-box canvas').first().boundingBox()
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
  await page.waitForTimeout(500)
}

async function dialog(page) {
  await page.locator('main .button.bad').first().click()
  await page.waitForTimeout(300)
}

async function edit(page) {
  await page.waitForTimeout(1500)
  const button = page.locator('main td .button').first()
  if ((await button.count()) > 0) await button.click()
  await page.waitForTimeout(500)
}

const preview = (file, csv) => async (page) => {
  writeFileSync(file, csv)
  await page.locator('input[type=file]').first().setInputFiles(file)
  await page.waitForTimeout(3500)
}

async function citation(page) {
  await page.locator('a[href*="datasets/citation"]').first().click()
  await page.waitForTimeout(1500)
}

async function compare(page) {
  await openAll(page)
  await page.locator('details').last().locator('.button.main').click()
  await page.waitForTimeout(1000)
}

/** Opens the first model of a store. */
async function oneModel(page) {
  await page.locator('.lanes a').first().click()
  await page.waitForTimeout(1000)
}

async function send(page) {
  await page.locator('main .button.main').first().click()
  await page.waitForTimeout(1500)
}

async function fleetMap(page) {
  await page.locator('main details > summary').nth(1).click()
  await page.waitForTimeout(3000)
}
