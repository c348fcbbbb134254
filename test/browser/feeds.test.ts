import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { DEFINITION, drop, put, register, rowsOf, startTwo, sync, untilFeed } from '../support/feeds.js'

const skip = missingChromium

t.test(
  'console: a feed is made, delivers, stops with its reason on top, and goes on',
  { skip },
  async (t) => {
    const [here, there] = await startTwo(t)
    await register(here)
    await put(here, [{ k: 1 }, { k: 2 }])
    const view = await openConsole(await startBrowser(t), here.url)
    const { page, goTo, complaints } = view
    await signIn(view, here.admin)
    await goTo('#/outbox')
    await page.getByText('No feeds yet.').waitFor()
    await page.getByText('New upstream of tables').click()
    const upstream = page.locator('details[open]')
    await upstream.getByLabel('Alias').fill('office')
    await upstream.getByLabel('Address of the upstream gateway').fill(there.url)
    await upstream.getByLabel('API key of the upstream').fill(there.admin.apiKey)
    await upstream.getByLabel('Secret of the upstream key').fill(there.admin.secret)
    await upstream.getByRole('button', { name: 'Create' }).click()
    await page.getByText('New feed').click()
    const feed = page.locator('details[open]')
    await feed.getByLabel('Table').fill('seen')
    await feed.getByRole('button', { name: 'Create' }).click()
    const feeds = page.getByRole('table', { name: 'Tables', exact: true })
    await feeds.getByText('up to date').waitFor()
    t.equal((await rowsOf(there)).length, 2)

    await drop(there)
    await register(there, { ...DEFINITION, record_def: { k: { udt_name: 'int8' } } })
    await put(here, [{ k: 3 }])
    await untilFeed(here, ({ state }) => state === 'stopped')
    await feeds.getByText('stopped').waitFor()
    await feeds.getByText(/TABLE_DIFFERS/).waitFor()
    await page.getByText('Stopped: 1').waitFor()
    await drop(there)
    await feeds.getByRole('button', { name: 'Continue' }).click()
    await feeds.getByText('up to date').waitFor()
    t.equal((await rowsOf(there)).length, 3)

    await feeds.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No feeds yet.').waitFor()
    t.same(await sync(here, 'list_feeds'), [])
    t.same(complaints, [])
  },
)
