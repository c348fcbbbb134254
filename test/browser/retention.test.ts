import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'

const skip = missingChromium
const LOADER = '/api/v1/dataloaderapi/jsonrpc'

t.test('console: old rows of a table go as its page says', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const loader = async (method: string, params: object) => {
    const { body } = await gateway.call(LOADER, `loaderwebapi.${method}`, params)
    return body.result
  }
  await loader('register_loader', {
    ...{ data_name: 'rain', unique_columns: ['gauge', 'start_datetime'] },
    record_def: { gauge: { udt_name: 'text' }, mm: { udt_name: 'float8' } },
  })
  const record_set = Array.from({ length: 30 }, (_, at) => ({
    ...{ type: 'Feature', geometry: null },
    properties: { gauge: 'g', mm: at, start_datetime: new Date(Date.now() - at * 60_000).toISOString() },
  }))
  await loader('add_record', { data_name: 'rain', record_set })
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints, goTo } = view
  await signIn(view, gateway.admin)
  await goTo('#/tables/rain')
  await page.getByRole('tab', { name: 'Retention' }).click()
  await page.getByLabel('Rows at most').fill('12')
  await page.getByLabel('Thin out rows').selectOption('into')
  t.equal(await page.getByLabel('Columns of a series').inputValue(), 'gauge')
  await page.getByLabel('Table of the summary').fill('rain_10min')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Rows are removed within a minute').waitFor()
  let rule: { rows: number }[] = []
  while (rule[0]?.rows !== 12) {
    rule = await loader('list_retention', {})
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.match(rule, [{ max_rows: 12, thin: { by: ['gauge'], into: 'rain_10min', interval_s: 600 } }])
  await goTo('#/tables')
  await goTo('#/tables/rain')
  await page.getByRole('tab', { name: 'Retention' }).click()
  await page.getByText('12 rows, about 0.0 MB. Removed so far: 18.').waitFor()
  await page.getByLabel('Thin out rows').selectOption('')
  await page.getByLabel('Rows at most').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Rows are removed within a minute').waitFor()
  t.same(await loader('list_retention', {}), [])
  t.same(complaints, [])
})
