import path from 'node:path'
import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'
import { makeModule } from '../support/dataproc.js'

const skip = missingChromium

t.test('console: a trigger is made, run, held and removed, and its runs are told', { skip }, async (t) => {
  const gateway = await townGateway(t)
  makeModule(path.join(gateway.dataDir, 'modules'), 'm', { make: 'echo "no rain" >&2; exit 3' })
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints, goTo } = view
  await signIn(view, gateway.admin)
  await goTo('#/modules')
  const form = page.locator('form').filter({ hasText: 'New trigger' })
  await form.getByLabel('Trigger', { exact: true }).fill('night')
  await form.getByLabel('Schedule').fill('0 0 30 2 *')
  await form.getByRole('button', { name: 'Create' }).click()
  await form.getByText(/never comes/).waitFor()
  await form.getByLabel('Schedule').fill('0 3 * * *')
  await form.getByLabel('Time zone').fill('Asia/Tokyo')
  await form.getByLabel('Inputs, outputs and params').fill('{')
  await form.getByRole('button', { name: 'Create' }).click()
  await form.getByText(/Invalid JSON/).waitFor()
  await form.getByLabel('Inputs, outputs and params').fill('{"params": {"step": 1}}')
  await form.getByRole('button', { name: 'Create' }).click()
  const row = page.getByRole('region', { name: 'Triggers', exact: true }).locator('tbody tr')
  await row.filter({ hasText: '0 3 * * *, time zone Asia/Tokyo' }).waitFor()
  await row.getByText('no run yet').waitFor()
  await row.getByRole('button', { name: 'Run now' }).click()
  await row.getByText('failed').waitFor()
  const runs = page.getByRole('region', { name: 'Runs of triggers' }).locator('tbody tr')
  t.equal(await runs.count(), 1)
  t.match(await runs.textContent(), /night.*failed.*3.*ended with exit code 3.*no rain/s)
  await row.getByRole('button', { name: 'Disable' }).click()
  await row.getByRole('button', { name: 'Enable' }).waitFor()
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No triggers yet.').waitFor()
  t.same(complaints, [])
})
