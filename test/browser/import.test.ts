import { gzipSync } from 'node:zlib'
import t from 'tap'
import {
  type ConsolePage,
  drop,
  missingChromium,
  openConsole,
  signIn,
  startBrowser,
} from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import { until } from '../support/models.js'
import type { TestGateway } from '../support/start-gateway.js'

const skip = missingChromium
const LOADER = '/api/v1/dataloaderapi/jsonrpc'

/** Rows of a table by a column. */
async function rowsOf(gateway: TestGateway, table: string, order: string) {
  const params = { type: 'Feature', geometry: null, properties: { table, order } }
  const { body } = await gateway.call('/api/v1/svcapi/jsonrpc', 'mapserv.eventdata', params)
  return body.result?.features as { geometry: unknown; properties: Record<string, unknown> }[]
}

async function tableNames(gateway: TestGateway): Promise<string[]> {
  const { body } = await gateway.call(LOADER, 'loaderwebapi.get_loader_list', {})
  return body.result.data.map(({ data_name }: { data_name: string }) => data_name)
}

async function choose({ page }: ConsolePage, name: string, content: string | Buffer): Promise<void> {
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) })
}

t.test('console: a file that is dropped anywhere becomes a table with one click', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/health')
  const lines = Array.from({ length: 30 }, (_, at) => {
    const hour = String(at % 10).padStart(2, '0')
    return `s${Math.floor(at / 10)};2026/1/31 ${hour}:00;${at},5;10,${1000 + at};50,0${at % 10}`
  })
  await drop(view, 'Rain 2026.csv', `Station;Time;Level (m);lng;lat\n${lines.join('\n')}\n`)
  await page.getByText('Every record has its own key (Station, start_datetime).').waitFor()
  t.equal(await page.getByLabel('Separator').inputValue(), 'semicolon')
  t.equal(await page.getByLabel('Start', { exact: true }).inputValue(), 'Time')
  t.equal(await page.getByLabel('Table name').inputValue(), 'Rain_2026')
  await page.getByRole('cell', { name: '10.1, 50' }).waitFor()
  t.equal(await page.getByRole('region', { name: 'First records' }).locator('tbody tr').count(), 20)
  await page.locator('.small-map').scrollIntoViewIfNeeded() // the map library is loaded with it
  await page.locator('.small-map canvas').waitFor()
  await until('the map fills its box', async () =>
    Boolean(
      await page.evaluate(`(() => {
        const [box, canvas] = ['.small-map', '.small-map canvas'].map((each) => document.querySelector(each))
        return canvas.clientHeight === box.clientHeight && canvas.clientWidth === box.clientWidth
      })()`),
    ),
  )
  t.same(await tableNames(gateway), [], 'nothing was made yet')
  await page.getByRole('button', { name: 'Create table and import' }).click()
  await page.getByText('30 records read: 30 inserted').waitFor()
  await page.getByRole('heading', { name: 'Rain_2026' }).waitFor()
  const rows = await rowsOf(gateway, 'Rain_2026', 'start_datetime')
  t.equal(rows.length, 30)
  t.match(rows[0], {
    geometry: { type: 'Point', coordinates: [10.1, 50] },
    properties: { start_datetime: /^2026-01-31T00:00:00/, Station: 's0', Level_m: 0.5 },
  })
  t.same(complaints, [])
})

t.test('console: collisions of the key are counted before anything is sent', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/import')
  const lines = Array.from({ length: 5000 }, (_, at) => `g${at % 2500},${at % 7}`)
  await choose(view, 'gauges.csv.gz', gzipSync(`gauge,level\n${lines.join('\n')}`))
  const gauge = page.getByRole('checkbox', { name: 'gauge', exact: true })
  await gauge.waitFor()
  await page.getByRole('checkbox', { name: 'level', exact: true }).uncheck()
  await gauge.check()
  await page
    .getByText(/^2,500 records have the key of an earlier record of the file. Line 2,502 has/)
    .waitFor()
  await page.getByRole('button', { name: 'Create table and import' }).click()
  await page.getByText(/Nothing was sent/).waitFor()
  t.same(await tableNames(gateway), [])
  await page.getByLabel('If records of the file share a key').selectOption('skip')
  await page.getByRole('button', { name: 'Create table and import' }).click()
  await page.getByText(/^5,000 records read: 2,500 inserted, 0 overwritten, 2,500 skipped/).waitFor()
  t.same(complaints, [])
})

t.test('console: what is not certain is refused with the reason, and can be chosen', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/import')
  await choose(view, 'a.csv', Buffer.from([0x93, 0xfa, 0x2c, 0x62, 0x0a, 0x31, 0x2c, 0x32]))
  await page.getByText('Line 1 is not utf-8. Choose the encoding of the file.').waitFor()
  await page.getByLabel('Encoding').selectOption('shift_jis')
  await page.getByRole('cell', { name: '日' }).first().waitFor()
  await choose(view, 'b.csv', 'a,b;c\n1,2;3\n')
  await page.getByText('Several separators divide the rows evenly: comma, semicolon.').waitFor()
  await page.getByLabel('Separator').selectOption('comma')
  await page.getByRole('cell', { name: 'b;c', exact: true }).waitFor()
  await choose(view, 'c.csv', 'a,A\n1,2\n')
  await page.getByText('Two columns are named "A". Rename one of them.').waitFor()
  await choose(view, 'd.parquet', 'x')
  await page.getByText(/^d.parquet is not a kind of file that can be imported/).waitFor()
  t.same(complaints, [])
})

t.test('console: an import that stops leaves no empty table behind', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/import')
  const feature = (id: number, lat: number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [10, lat] },
    properties: { id },
  })
  const text = JSON.stringify({ type: 'FeatureCollection', features: [feature(1, 50), feature(2, 95)] })
  await choose(view, 'places.geojson', text)
  await page.getByText(/^1 record has a place outside the Earth, such as .*\(record 2\)/).waitFor()
  await page.getByRole('button', { name: 'Create table and import' }).click()
  await page.getByText(/^Record 2: .*The table was removed again\.$/).waitFor()
  t.same(await tableNames(gateway), [])
  t.match(complaints, [/400/], 'the browser logs the refusal')
})

t.test('console: an import into a table tells shared keys, and invents no time', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'gauges',
    record_def: { gauge: { udt_name: 'text' }, level: { udt_name: 'int4' } },
    unique_columns: ['gauge'],
  })
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/tables/gauges')
  await page.getByRole('tab', { name: 'Import file' }).click()
  const load = async () => await page.getByRole('button', { name: 'Import', exact: true }).click()
  await choose(
    view,
    'a.csv',
    'gauge,level,start_datetime,extra\na,1,2026-01-01T00:00:00Z,x\nb,2,,\na,3,,\na,4,,\n',
  )
  const shared =
    '2 records have the key of an earlier record of the file. Line 4 has the key of line 2 (gauge "a").'
  await page.getByText(`${shared} Line 5 has the key of line 2 (gauge "a").`, { exact: true }).waitFor()
  t.notOk(
    await page.getByRole('checkbox', { name: 'Import extra' }).isChecked(),
    'the table has no such column',
  )
  await load()
  await page.getByText(/Nothing was sent\./).waitFor()
  t.same(await rowsOf(gateway, 'gauges', 'gauge'), [])
  await page.getByLabel('If a record exists').selectOption('skip')
  await load()
  await page.getByText('4 records read: 2 inserted, 0 overwritten, 2 skipped').waitFor()
  t.match(
    (await rowsOf(gateway, 'gauges', 'gauge')).map(({ properties }) => properties),
    [
      { gauge: 'a', level: 1, start_datetime: '2026-01-01T09:00:00+09:00', end_datetime: null },
      { gauge: 'b', level: 2, start_datetime: null, end_datetime: null },
    ],
  )
  await choose(view, 'b.csv', 'gauge,level\nc,1\nd,high\n')
  await page.getByText('Every record has its own key (gauge).').waitFor()
  await load()
  await page.getByText(/^Line 3: .*found "high"/).waitFor()
  t.match(complaints, [/400/], 'the browser logs the refusal')
})
