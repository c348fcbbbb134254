import path from 'node:path'
import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { register, startNode } from '../support/feeds.js'

const skip = missingChromium
const OFTEN = { fleet: { reportS: 1 } }

t.test(
  'console: a profile and a token are made, a gateway joins with them, and leaves',
  { skip },
  async (t) => {
    const dir = t.testdir()
    const hub = await startNode(t, path.join(dir, 'hub'), OFTEN)
    const van = await startNode(t, path.join(dir, 'van'), OFTEN)
    await register(van)
    const browser = await startBrowser(t)
    const atHub = await openConsole(browser, hub.url)
    const { page } = atHub
    await signIn(atHub, hub.admin)
    await atHub.goTo('#/fleet')
    await page.getByText('No profiles yet.').waitFor()
    await page.getByLabel('Name of the profile').press('Enter')
    const json = page.getByLabel('Profile, JSON')
    await json.fill('{\n  "up": [\n    {"table": 7}\n  ]\n}')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('The profile has 1 fault.').waitFor()
    await page.getByRole('button', { name: /^Line 3, up\[0\]\.table: / }).click()
    const shown = '(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))'
    t.equal(await page.evaluate(`${shown}(document.activeElement)`), '    {"table": 7}', 'the line is shown')
    await json.fill('{')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText(/^Invalid JSON: /).waitFor()
    await json.fill('{"up": [{"table": "seen"}]}')
    await page.getByLabel('Stop when more gateways').fill('2')
    await page.getByRole('button', { name: 'Check' }).click()
    const changes = page.getByRole('table', { name: 'Changes from version 0' })
    await changes.getByRole('cell', { name: 'stages max_trouble' }).waitFor()
    await page.getByRole('button', { name: 'Save as version 1' }).click()
    await page.getByText('Saved as version 1.').waitFor()

    await page.getByRole('link', { name: 'Back to the fleet' }).click()
    await page.getByText('New token').click()
    await page.locator('details[open]').getByRole('button', { name: 'Create' }).click()
    const token = (await page.getByLabel('Token', { exact: true }).textContent()) ?? ''
    t.equal(
      await page.getByLabel('Command for the gateway').textContent(),
      `fieldgate join ${hub.url} --token ${token}`,
    )

    const atVan = await openConsole(browser, van.url)
    await signIn(atVan, van.admin)
    await atVan.goTo('#/fleet')
    await atVan.page.getByText('Join a hub').click()
    await atVan.page.getByLabel('Address of the hub').fill(hub.url)
    await atVan.page.getByLabel('Name of this gateway').fill('van-7')
    await atVan.page.getByLabel('Token of the hub').fill('wrong')
    await atVan.page.getByRole('button', { name: 'Join' }).click()
    await atVan.page
      .getByRole('alert')
      .getByText(/\$\.token.*fieldgate fleet token/)
      .waitFor()
    await atVan.page.getByLabel('Token of the hub').fill(token)
    await atVan.page.getByRole('button', { name: 'Join' }).click()
    const parts = atVan.page.getByRole('table', { name: 'Parts of the profile' })
    await parts.getByRole('cell', { name: 'applied' }).waitFor()
    await atVan.page.getByText('field, version 1').waitFor()

    await page.getByRole('link', { name: 'van-7' }).click()
    await page.getByRole('heading', { name: 'van-7' }).waitFor()
    await page.getByRole('table', { name: 'Reports of the last day' }).getByText('ready').first().waitFor()
    await atVan.page.getByRole('button', { name: 'Leave the hub' }).click()
    await atVan.page.getByRole('dialog').getByRole('button', { name: 'Leave the hub' }).click()
    await atVan.page.getByText('left', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Back to the fleet' }).click()
    const gateways = page.getByRole('table', { name: 'Gateways of this hub' })
    await gateways.getByText('left', { exact: true }).waitFor()
    t.same([...atHub.complaints, ...atVan.complaints], [])
  },
)
