// What users do, photographed in the middle and at the end of it: imports, routes that are dragged, time, models.
import { writeFileSync } from 'node:fs'

const wait = (ms) => (page) => page.waitForTimeout(ms)

/**
 * @param facts `question`: the query of a route around risk; `centre` of the records; `folder` for files to import
 * @returns views of a filled gateway
 */
export function taskViews({ question, centre, folder }) {
  const [lng, lat] = centre
  const view = `view=${lng},${lat},13`
  const shared = [
    'sensor,start_datetime,mm,lng,lat',
    ...Array.from({ length: 30 }, (_, n) => `s${n % 10},2026-11-0${1 + (n % 3)},${n},${lng},${lat}`),
  ]
  return [
    ['task-drop', '#/home', hold],
    ['task-import-shared', '#/import', chooseFile(`${folder}/shared.csv`, shared)],
    ['task-import-refused', '#/import', refused(`${folder}/shared.csv`, shared)],
    ['task-import-done', '#/import', importNew(`${folder}/starts.csv`, shared)],
    [
      'task-import-broken',
      '#/import',
      chooseFile(`${folder}/broken.csv`, ['a,b', '1,2', '1,2,3'], '.notice.bad'),
    ],
    [
      'task-import-exists',
      '#/tables/rain',
      importInto(`${folder}/rain.csv`, ['gauge,start_datetime,mm', '1,2026-11-01,2.5', '1,2026-11-01,3.5']),
    ],
    ['task-drag-pin', `#/map?${question}`, drag(false)],
    ['task-drag-line', `#/map?${question}`, drag(true)],
    ['task-map-risk', `#/map?${question}`, scrollTo('#risk-title')],
    ['task-map-time', `#/map?${question}&events=incidents&records=brush&${view}`, play],
    [
      'task-map-filter',
      `#/map?events=incidents&where=severity%20%3E%205&colour=severity&${view}`,
      wait(4000),
    ],
    ['task-map-draw', `#/map?${view}`, draw],
    [
      'task-filtered',
      '#/tables/incidents?sort=-severity&where=[["kind","=","landslide"],["severity",">","5"]]',
      wait(2000),
    ],
    ['task-api-route', '#/api', filterMethods('route')],
    ['task-api-sent', '#/api/routing.dijkstra', send],
    ['task-api-refused', '#/api/routing.dijkstra', sendWrong],
    ['task-model-send', '#/models/early', wait(800)],
    ['task-health-day', '#/health', chooseRange],
    ['task-menu', '#/home', menu],
  ]
}

/** A file that is held over the page. */
async function hold(page) {
  await page.waitForTimeout(800)
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File(['a'], 'a.csv'))
    for (const type of ['dragenter', 'dragover'])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  })
  return () =>
    page.evaluate(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['a'], 'a.csv'))
      document.body.dispatchEvent(new DragEvent('dragleave', { dataTransfer, bubbles: true }))
    })
}

const chooseFile =
  (file, lines, until = '.preview tbody tr') =>
  async (page) => {
    writeFileSync(file, `${lines.join('\n')}\n`)
    await page.locator('input[type=file]').first().setInputFiles(file)
    await page.locator(until).first().waitFor()
    await page.waitForTimeout(2500)
  }

const refused = (file, lines) => async (page) => {
  await chooseFile(file, lines)(page)
  for (const box of await page.locator('section fieldset input[type=checkbox]').all())
    if (await box.isChecked()) await box.uncheck()
  await page.locator('section fieldset input[type=checkbox]').first().check()
  await page.waitForTimeout(500)
  await page.locator('main form .button.main').last().click()
  await page.waitForTimeout(800)
}

/** Makes a table of a file whose records have a start and no end. */
const importNew = (file, lines) => async (page) => {
  await chooseFile(file, lines)(page)
  await page.locator('input[name=data_name]').fill(`starts_${Date.now()}`)
  await page.locator('main form .button.main').last().click()
  await page.locator('main .notice.good').waitFor()
  await page.waitForTimeout(1500)
}

const importInto = (file, lines) => async (page) => {
  await page.getByRole('tab').nth(3).click()
  await chooseFile(file, lines)(page)
  await page.locator('main form .button.main').last().click()
  await page.waitForTimeout(1200)
}

/** Pulls the start, or the line of the route, and does not let go. */
const drag = (isLine) => async (page) => {
  await page.waitForTimeout(5000)
  const box = await page.locator('.map-box canvas').first().boundingBox()
  const pin = await page.locator('.pin-box').first().boundingBox()
  const from = isLine ? await lineAt(page, box) : { x: pin.x + pin.width / 2, y: pin.y + pin.height / 2 }
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  for (let n = 1; n <= 6; n++) {
    await page.mouse.move(from.x + n * 8, from.y + n * 6)
    await page.waitForTimeout(80)
  }
  await page.waitForTimeout(800)
  return () => page.mouse.up()
}

/** Place of the map where the pointer can seize the chosen route. */
async function lineAt(page, box) {
  for (let part = 0.1; part < 0.9; part += 0.008) {
    const place = { x: box.x + box.width * 0.4, y: box.y + box.height * part }
    await page.mouse.move(place.x, place.y)
    await page.waitForTimeout(15)
    if ((await page.locator('.grip').count()) > 0) return place
  }
  throw new Error('the line of the route was not found')
}

const scrollTo = (selector) => async (page) => {
  await page.waitForTimeout(3000)
  await page.locator(selector).scrollIntoViewIfNeeded()
}

async function play(page) {
  await page.waitForTimeout(4000)
  const button = page.locator('section[aria-labelledby=time-title] button')
  await button.scrollIntoViewIfNeeded()
  await button.click()
  await page.waitForTimeout(1500)
}

async function draw(page) {
  await page.waitForTimeout(3000)
  await page.locator('section[aria-labelledby=risk-title] summary').last().click()
  const box = await page.locator('.map-box canvas').first().boundingBox()
  for (const [x, y] of [
    [0.4, 0.4],
    [0.6, 0.4],
    [0.5, 0.6],
  ]) {
    await page.mouse.click(box.x + box.width * x, box.y + box.height * y)
    await page.waitForTimeout(300)
  }
  await page.locator('section[aria-labelledby=risk-title] form .button').last().scrollIntoViewIfNeeded()
}

const filterMethods = (text) => async (page) => {
  await page.locator('main input').first().fill(text)
  await page.waitForTimeout(500)
}

async function send(page) {
  await page.locator('main .button.main').first().click()
  await page.locator('main .notice.good, main .notice.bad').first().waitFor()
  await page.waitForTimeout(500)
}

/** Sends a call whose parameters the gateway refuses. */
async function sendWrong(page) {
  await page.locator('textarea[name=params]').fill('[{}]')
  await send(page)
}

async function chooseRange(page) {
  await page.waitForTimeout(3000)
  await page.locator('main select').first().selectOption('1440')
  await page.waitForTimeout(3500)
}

/** Opens the navigation of a narrow page. */
async function menu(page) {
  const button = page.locator('header .button')
  if (await button.isVisible()) await button.click()
  await page.waitForTimeout(300)
}
