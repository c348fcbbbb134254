import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { DEMO } from '../../src/demo/town.js'
import { type ConsolePage, drop, missingChromium, openAddress, startBrowser } from '../support/browser.js'
import { LOCAL_SYNC, modelsOf, until } from '../support/models.js'
import { printed, startCli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
const ROWS = 5000

/** `npm start` in an empty folder: a gateway with the demonstration, and its page on the terminal. */
async function npmStart(t: Test, cwd: string): Promise<string> {
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify({ sync: LOCAL_SYNC }))
  const running = startCli(cwd, ['serve', '--demo', '--port', '0'], {}, true)
  t.teardown(async () => {
    running.signal('SIGTERM')
    await running.ended
  })
  await printed(running, /Secret {3}fgs_/)
  return /Sign in {2}(http:\S+)/.exec(running.stdout())?.[1] ?? ''
}

t.test('first day: from the link on the terminal to a model at the upstream', { skip }, async (t) => {
  const dir = t.testdir({ edge: {}, upstream: {} })
  const link = await npmStart(t, path.join(dir, 'edge'))
  const view = await openAddress(await startBrowser(t), link)
  await t.test('the link signs in, and the first page says that nothing is wrong', async () => {
    await view.page.getByText('Everything works', { exact: false }).first().waitFor()
  })
  await t.test('5,000 rows are dropped, and seen in the grid and on the map', async (t) => {
    await dropRows(t, view)
  })
  await t.test('an area of risk is drawn across the route, which goes around it', async (t) => {
    await drawRisk(t, view)
  })
  await t.test('the rows are cited', async (t) => await cite(t, view))
  await t.test(
    'a transfer that is refused is the first thing on the first page, which leads to it',
    async (t) => {
      const upstream = await startGateway(t, {
        settings: { sync: LOCAL_SYNC },
        dataDir: path.join(dir, 'upstream'),
      })
      await findTrouble(t, view, upstream)
    },
  )
  t.same(view.complaints, [])
})

async function dropRows(t: Test, { page, goTo, ...view }: ConsolePage): Promise<void> {
  const lines = Array.from({ length: ROWS }, (_, at) => {
    const lng = DEMO.bbox[0] + ((at % 100) / 100) * (DEMO.bbox[2] - DEMO.bbox[0])
    const lat = DEMO.bbox[1] + (Math.floor(at / 100) / 50) * (DEMO.bbox[3] - DEMO.bbox[1])
    return `s${at},${at % 97},${lng.toFixed(6)},${lat.toFixed(6)}`
  })
  await drop({ page, goTo, ...view }, 'sensors.csv', `sensor,level,lng,lat\n${lines.join('\n')}\n`)
  await page.getByText('Every record has its own key (sensor).').waitFor()
  await page.getByRole('button', { name: 'Create table and import' }).click()
  await page.getByText('5,000 records read: 5,000 inserted').waitFor()
  await page.getByText('5,000 rows', { exact: true }).waitFor()
  await page.getByLabel('Go to row').fill('4990')
  await page.getByRole('button', { name: 'Go', exact: true }).click()
  await page.getByText('Rows 4,990–5,000').waitFor()
  t.equal(await page.getByRole('region', { name: 'Rows' }).locator('tbody tr').count(), 11)
  await page.getByRole('link', { name: 'Show on map' }).click()
  await page.getByText('Records shown: 5,000').waitFor()
}

async function drawRisk(t: Test, { page, goTo }: ConsolePage): Promise<void> {
  await goTo('#/map?')
  for (const [lng, lat] of [DEMO.start, DEMO.goal]) {
    await page.getByLabel('Add a point').fill(`${lng}, ${lat}`)
    await page.getByRole('button', { name: 'Add', exact: true }).first().click()
  }
  await page.locator('.roads').waitFor()
  await page.getByText('Draw an area of risk').click()
  const box = await page.locator('.map-box canvas').boundingBox()
  if (box === null) throw new Error('the map has no box')
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Set at least 3 corners.').waitFor()
  for (const [n, [east, south]] of [
    [-50, -50],
    [50, -50],
    [50, 50],
    [-50, 50],
  ].entries() as Iterable<[number, [number, number]]>) {
    await page.mouse.click(x + east, y + south, { delay: 20 })
    await page.getByText(`Corners: ${n + 1}`).waitFor()
  }
  t.equal(await page.locator('.points li').count(), 2, 'the clicks set no points of the route')
  await page.getByLabel('Level', { exact: true }).fill('10')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The area is stored in the table drawn').waitFor()
  t.ok(await page.getByRole('checkbox', { name: 'drawn' }).first().isChecked())
  await page.getByText('Cells shown: 1').waitFor()
  await page.getByText(/highest risk 10 → 0, exposure −100\s%/).waitFor()
}

async function cite(t: Test, { page, goTo }: ConsolePage): Promise<void> {
  await goTo('#/tables/sensors')
  await page.getByText('Cite this state').first().click()
  await page.getByLabel('Citation name').fill('first-report')
  await page.getByRole('button', { name: 'Cite this state' }).click()
  await page
    .getByText(/first-report_\d+/)
    .first()
    .waitFor()
  await goTo('#/datasets')
  await page.getByRole('link', { name: /^first-report_/ }).click()
  await page.getByRole('heading', { name: /^Citation first-report_/ }).waitFor()
  await page.getByText('5,000 rows', { exact: true }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0, 'a citation never changes')
}

async function findTrouble(t: Test, { page, goTo }: ConsolePage, upstream: TestGateway): Promise<void> {
  const homeTells = async () => {
    await goTo('#/sessions')
    await goTo('#/home')
    await page.locator('.notice').first().waitFor()
    return (await page.locator('.notice.bad').count()) > 0
  }
  const connect = async (secret: string) => {
    await goTo('#/outbox')
    const form = page.locator('details[open]', { hasText: 'New upstream of models' })
    // the page may be shown once more between the click and the form
    await until('the form is open', async () => {
      if (!(await form.isVisible())) await page.getByText('New upstream of models').click()
      return await form.getByLabel('Model store', { exact: true }).isVisible()
    })
    await form.getByLabel('Model store', { exact: true }).selectOption({ label: 'rain' })
    await form.getByLabel('Address of the upstream gateway').fill(`${upstream.url}/api/v2/fl/jsonrpc`)
    await form.getByLabel('API key of the upstream').fill(upstream.admin.apiKey)
    await form.getByLabel('Secret of the upstream key').fill(secret)
    await form.getByLabel('Model store of the upstream').fill('rain')
    await form.getByLabel('Alias').fill('office')
    await form.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('cell', { name: 'office' }).first().waitFor()
  }
  await goTo('#/models')
  await page.getByText('New model store').click()
  await page.getByLabel('Name', { exact: true }).fill('rain')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'rain' }).waitFor()
  await connect('wrong')
  await goTo('#/models/rain')
  await page.getByLabel('File', { exact: true }).setInputFiles({
    ...{ name: 'model.bin', mimeType: 'application/octet-stream' },
    buffer: Buffer.alloc(50_000, 7),
  })
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('Stored as model').waitFor()

  await until('the first page tells the trouble', homeTells)
  const notice = page.locator('.notice').first()
  t.match(await notice.getAttribute('class'), /bad/, 'trouble comes first')
  await notice.getByRole('link').click()
  const outbox = page.getByRole('region', { name: 'Models', exact: true })
  await outbox
    .getByText(/UNAUTHORIZED|401/)
    .first()
    .waitFor()

  await page
    .getByRole('region', { name: 'Upstreams of models' })
    .getByRole('button', { name: 'Remove' })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await connect(upstream.admin.secret)
  await goTo('#/models/rain')
  await page.getByRole('button', { name: 'Send to upstream' }).click()
  await until('the model is at the upstream', async () => (await modelsOf(upstream)).length === 1)
}
