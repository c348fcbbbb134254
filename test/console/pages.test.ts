import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { type ConsolePage, missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { addFlood, townGateway } from '../support/console-gateway.js'
import type { TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const PAGES = [
  ...[
    '#/map',
    '#/tables',
    '#/tables/flood',
    '#/datasets',
    '#/datasets/set/gauges',
    '#/models',
    '#/models/rain',
  ],
  ...['#/outbox', '#/sessions', '#/health', '#/api', '#/api/routing.dijkstra', '#/help', '#/nowhere'],
]

interface AxeFault {
  id: string
  impact: string
  nodes: { html: string }[]
}

/** Serious and critical faults of a page, one line each. */
async function seriousFaults({ page }: ConsolePage, where: string): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate('axe.run(document)')) as { violations: AxeFault[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${where} ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

async function fillGateway(gateway: TestGateway): Promise<void> {
  await addFlood(gateway)
  const DATASET = '/api/v2/dataset/jsonrpc'
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'level', data_type: 'double precision' },
    ],
    key_columns: ['id'],
  })
  const put = (records: unknown[], on_conflict: string) =>
    gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records, on_conflict })
  const cite = () =>
    gateway.call(DATASET, 'dataset.citation.create', { citation_label: 'report', source: 'gauges' })
  await put(
    [
      [1, 2.5],
      [2, 1],
    ],
    'error',
  )
  await cite()
  await put(
    [
      [1, 3.5],
      [3, 7],
    ],
    'update',
  )
  await cite()
  await gateway.call('/api/v2/model_store/jsonrpc', 'model_store.create', { model_store_ddc: 'rain' })
}

t.test(
  'console: no page has a serious fault of accessibility, light or dark, wide or narrow',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await fillGateway(gateway)
    const browser = await startBrowser(t)
    for (const options of [
      { width: 1280, theme: 'light' as const },
      { width: 360, height: 740, theme: 'dark' as const },
    ]) {
      const view = await openConsole(browser, gateway.url, options)
      const { page, goTo, complaints } = view
      const faults = await seriousFaults(view, 'sign-in')
      await signIn(view, gateway.admin)
      for (const address of PAGES) {
        await goTo(address)
        if (address === '#/map') await page.locator('canvas').waitFor()
        await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
        faults.push(...(await seriousFaults(view, address)))
        const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
        t.ok(Number(overflow) <= 0, `${address} fits ${options.width} px`)
      }
      t.same(faults, [], `${options.width} px, ${options.theme}`)
      t.same(complaints, [])
    }
  },
)

t.test('console: language and theme are switched, and kept', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints, goTo } = view
  await signIn(view, gateway.admin)
  await goTo('#/health')
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>
  const light = await ground()
  await page.locator('select[name=theme]').selectOption('dark')
  t.not(await ground(), light)
  await page.locator('select[name=language]').selectOption('ja')
  await page.getByRole('heading', { name: '稼働状況' }).waitFor()
  t.equal(await page.evaluate('document.documentElement.lang'), 'ja')
  await page.getByRole('button', { name: 'サインアウト' }).click()
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  t.same(complaints, [])
})

t.test('console: by keyboard alone from sign-in to a page; an ended session is told', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page } = view
  await page.keyboard.type(gateway.admin.apiKey) // the first field has the focus
  await page.keyboard.press('Tab')
  await page.keyboard.type(gateway.admin.secret)
  await page.keyboard.press('Enter')
  const link = page.getByRole('link', { name: 'Tables' })
  await link.waitFor()
  for (let tabs = 0; tabs < 20; tabs++) {
    if (
      await link.evaluate(
        (element) =>
          element === (element as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
      )
    )
      break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  await gateway.revokeKey(gateway.admin.apiKey)
  await page.evaluate(`location.hash = '#/datasets'`)
  await page.getByText('The session has ended').waitFor()
})

t.test('console: two citations are compared, and each has a landing page', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await fillGateway(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/datasets')
  await page.getByText('Compare two citations').click()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByText('1 added, 0 removed, 1 changed, 1 the same.').waitFor()
  await page.getByRole('cell', { name: '2.5 → 3.5' }).waitFor()
  await page
    .getByRole('link', { name: /^report_/ })
    .first()
    .click()
  await page.getByRole('heading', { name: /^Citation report_/ }).waitFor()
  await page.getByRole('cell', { name: '3.5' }).waitFor()
  await page
    .getByText(/SHA-256/)
    .first()
    .waitFor()
  t.same(complaints, [])
})

t.test('console: a method is tried in the API explorer', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/api')
  await page.getByLabel('Filter').fill('list_maps')
  await page.getByRole('link', { name: 'routing.list_maps' }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/"name": "town"/).waitFor()
  t.same(complaints, [])
})
