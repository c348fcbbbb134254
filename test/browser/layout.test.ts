import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { type ConsolePage, missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'
import { setProfile } from '../support/fleet.js'
import { addGateways } from '../support/many-gateways.js'
import { connect, putModel } from '../support/models.js'
import type { TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
/** Longest name of a table, and a value without a place to break it. */
const LONG = `long_${'n'.repeat(50)}`
const UNBROKEN = 'x'.repeat(300)

const ADDRESSES = [
  ...['#/home', '#/tables', `#/tables/${LONG}`, '#/tables/nothing', '#/import', '#/datasets'],
  ...['#/datasets/set/gauges', '#/datasets/citation/nothing', '#/models', '#/models/rain', '#/modules'],
  ...['#/outbox', '#/fleet', '#/fleet/profile/field', '#/sessions', '#/health', '#/api'],
  ...['#/api/routing.dijkstra', '#/help', '#/nowhere', '#/map'],
  '#/map?points=10,50.006;10.012,50.006&theme=flood:0,0,0,0,0,0,0,0,0,0,9&at=2026-01-01T10:30:00.000Z&routes=2',
  '#/map?events=flood&records=brush&brush=2026-01-01T10:00:00.000Z/2026-01-01T10:40:00.000Z',
]

async function layoutFaultsOf(): Promise<string> {
  const script = pathToFileURL(path.resolve('scripts/pictures/gallery/measure.mjs')).href
  const { layoutFaults } = (await import(script)) as { layoutFaults: () => string[] }
  return `(${String(layoutFaults)})()`
}

/** Adds a table of the longest name with a long value, and a model that its upstream refuses. */
async function addHardContents(gateway: TestGateway): Promise<void> {
  await fillGateway(gateway)
  await setProfile(gateway, { up: [{ table: 'seen' }] })
  addGateways(gateway, 3)
  const loader = (method: string, params: object) =>
    gateway.call('/api/v1/dataloaderapi/jsonrpc', `loaderwebapi.${method}`, { data_name: LONG, ...params })
  await loader('register_loader', {
    record_def: { id: { udt_name: 'int4' }, note: { udt_name: 'text' } },
    unique_columns: ['id'],
  })
  const properties = { start_datetime: '2026-01-01T10:00:00Z', id: 1, note: UNBROKEN }
  const geometry = { type: 'Point', coordinates: [10.006, 50.006] }
  const { body } = await loader('add_record', { record_set: [{ type: 'Feature', geometry, properties }] })
  if (body.result?.count_insert !== 1) throw new Error(JSON.stringify(body))
  const nobody = { apiKey: gateway.admin.apiKey, secret: 'wrong' }
  await connect(gateway, { url: gateway.url, admin: nobody }, { upstream_model_store_ddc: 'copy' })
  await putModel(gateway, new Uint8Array(10), { data: { model_meta: { file_name: `${UNBROKEN}.bin` } } })
}

/** Shows a page with all its parts unfolded, once it has read what it shows. */
async function show({ page, goTo }: ConsolePage, address: string): Promise<void> {
  await goTo(address)
  await page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const isRead = document.querySelector('#main')?.textContent.trim() !== '' && !document.querySelector('[aria-busy="true"]')
      if (isRead) resolve()
      else setTimeout(look, 20)
    }
    look()
  })`)
  await page.evaluate(`document.querySelectorAll('main details').forEach((each) => { each.open = true })`)
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
}

t.test(
  'console: no page is wider than the window, cuts text off or is empty, in both languages',
  { skip },
  async (t) => {
    const gateway = await townGateway(t, { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'] } })
    await addHardContents(gateway)
    const measure = await layoutFaultsOf()
    const browser = await startBrowser(t)
    const look = async (width: number) => {
      const view = await openConsole(browser, gateway.url, { width })
      await signIn(view, gateway.admin)
      for (const language of ['en', 'ja']) {
        await view.page.evaluate(`(() => {
          const choice = document.querySelector('select[name=language]')
          choice.value = '${language}'
          choice.dispatchEvent(new Event('change', { bubbles: true }))
        })()`)
        for (const address of ADDRESSES) {
          await show(view, address)
          t.same(await view.page.evaluate(measure), [], `${address} at ${width} px in ${language}`)
        }
        await show(view, `#/tables/${LONG}`)
        for (const tab of await view.page.getByRole('tab').all()) {
          await tab.click()
          const name = `${await tab.textContent()} at ${width} px`
          t.same(await view.page.evaluate(measure), [], name)
        }
      }
      t.same(view.complaints, [])
    }
    await Promise.all([look(360), look(1440)])
  },
)

t.test('layout of the console: what is too wide, cut off or empty is found', { skip }, async (t) => {
  const browser = await startBrowser(t)
  const page = await browser.newPage({ viewport: { width: 360, height: 500 } })
  const measure = await layoutFaultsOf()
  const faultsOf = async (content: string) => {
    await page.setContent(`<main id="main" style="margin:0">some words of a page ${content}</main>`)
    return (await page.evaluate(measure)) as string[]
  }
  t.same(await faultsOf(''), [])
  t.match(await faultsOf('<div style="width:500px">wide</div>'), [/^the page is 5\d\d px wide/, /outside/])
  const cut = '<div style="width:60px;overflow:hidden;white-space:nowrap">words that are longer</div>'
  t.match(await faultsOf(cut), [/^cut at the right by \d+ px: div\. “words that are longer”/])
  t.match(await faultsOf('<p style="height:9px;overflow:hidden">low</p>'), [/^cut at the bottom: p\. “low”/])
  const uneven =
    '<div class="row"><button style="appearance:none;height:20px" class="button">a</button><input style="height:40px"></div>'
  t.match(await faultsOf(uneven), [/^controls of one row are 20 and 40 px high/])
  t.match(await faultsOf('<button>raw</button>'), [/^a button with the browser's own look: button\. “raw”/])
  const time = '<input type="datetime-local" value="2026-11-28T10:00" style="width:90px">'
  t.match(await faultsOf(time), [/^a time needs \d+ px, its field has 90/])
  const popup = '<div class="maplibregl-popup-content" style="height:90px">long</div>'
  t.match(await faultsOf(`<div class="maplibregl-map" style="height:50px">${popup}</div>`), [
    /^a popup leaves its map/,
  ])
  await page.setContent('<main id="main"> </main>')
  t.same(await page.evaluate(measure), ['the page is empty'])
})
