import { readFileSync } from 'node:fs'
import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import type { TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'

t.test(
  'console: rows are counted, sorted, filtered, edited, exported, and found on the map',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await gateway.call(LOADER, 'loaderwebapi.register_loader', {
      data_name: 'rain',
      record_def: { gauge: { udt_name: 'text' }, mm: { udt_name: 'int4', is_nullable: true } },
      unique_columns: ['gauge'],
    })
    const record_set = Array.from({ length: 130 }, (_, n) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [10 + n / 1e4, 50] },
      properties: { gauge: `g${n}`, mm: n },
    }))
    await gateway.call(LOADER, 'loaderwebapi.add_record', { data_name: 'rain', record_set })
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, goTo, complaints } = view
    await signIn(view, gateway.admin)
    await goTo('#/tables/rain')
    await page.getByText('130 rows').waitFor()
    const rows = page.getByRole('region', { name: 'Rows' }).locator('tbody tr')
    t.equal(await rows.count(), 50)
    await page.getByRole('button', { name: 'mm', exact: true }).click()
    await page.getByRole('button', { name: 'mm ↑' }).click()
    await page.getByRole('button', { name: 'mm ↓' }).waitFor()
    await rows.first().getByText('129', { exact: true }).waitFor()
    await page.getByLabel('Go to row').fill('120')
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.getByText('Rows 120–130').waitFor()
    await page.getByLabel('Column', { exact: true }).selectOption('mm')
    await page.getByLabel('Comparison').selectOption('<')
    await page.getByLabel('Value').fill('3')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByText('3 rows').waitFor()
    t.match(await page.evaluate('location.hash'), /^#\/tables\/rain\?sort=-mm&where=/)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const csv = readFileSync(await (await saved).path(), 'utf8')
    t.match(csv, /^start_datetime,end_datetime,location,gauge,mm\r\n.*g2,2\r\n.*g1,1\r\n.*g0,0\r\n$/)
    await page.locator('.small-map canvas').waitFor()
    await rows.nth(1).click()
    t.match(await rows.nth(1).getAttribute('class'), /chosen/)
    await rows.nth(1).getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('mm').fill('2000')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('2 rows').waitFor()
    await page.getByRole('button', { name: /^Remove the filter mm < 3/ }).click()
    await rows.first().getByText('2000', { exact: true }).waitFor()
    t.same(complaints, [])
  },
)

t.test(
  'console: rows of a dataset and of a citation; a row is edited and one removed in the dataset alone',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await gateway.call(DATASET, 'dataset.create', {
      dataset_name: 'gauges',
      columns: [
        { column_name: 'id', data_type: 'int' },
        { column_name: 'at', data_type: 'timestamp with time zone', nullable: true },
        { column_name: 'place', data_type: 'geometry(Point,4326)', nullable: true },
      ],
      key_columns: ['id'],
    })
    const records = [1, 2, 3].map((n) => [n, '2026-01-01T00:00:00Z', `POINT(10.00${n} 50)`])
    await gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records })
    const { body } = await gateway.call(DATASET, 'dataset.citation.create', {
      citation_label: 'report',
      source: 'gauges',
    })
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, goTo, complaints } = view
    await signIn(view, gateway.admin)
    await goTo('#/datasets/set/gauges')
    await page.getByText('3 rows').waitFor()
    await page.getByRole('cell', { name: '10.002, 50' }).waitFor()
    const rows = page.getByRole('region', { name: 'Rows' }).locator('tbody tr')
    await rows.nth(2).getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('at').fill('2026-02-03T04:05:06Z')
    await dialog.getByLabel('place').fill('10.5, 50.5')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: '10.5, 50.5' }).waitFor()
    await rows.nth(1).getByRole('button', { name: 'Remove' }).click()
    await page.getByText('This removes 1 row from the dataset. Citations still have it.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('1 row was removed.').waitFor()
    await page.getByText('2 rows').waitFor()
    await goTo(`#/datasets/citation/${body.result.long_form}`)
    await page.getByText('3 rows').waitFor()
    await page.getByRole('cell', { name: '10.003, 50' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0, 'a citation never changes')
    t.same(await recordsOf(gateway), [
      { id: 1, at: '2026-01-01T09:00:00.000000+09:00', place: [10.001, 50] },
      { id: 3, at: '2026-02-03T13:05:06.000000+09:00', place: [10.5, 50.5] },
    ])
    t.same(complaints, [])
  },
)

async function recordsOf(gateway: TestGateway): Promise<object[]> {
  const { body } = await gateway.call(DATASET, 'dataset.record.list', { dataset_label: 'gauges' })
  return body.result.map(({ id, at, place }: Record<string, { val: string; coordinates: number[] }>) => ({
    id,
    at: at?.val,
    place: place?.coordinates,
  }))
}
