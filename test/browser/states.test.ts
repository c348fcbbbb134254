import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Route } from 'playwright-core'
import t from 'tap'
import { type ConsolePage, missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'

const skip = missingChromium
/** What pages ask the gateway for; not the console's own files. */
const ANSWERS = /^https?:\/\/[^/]+\/(api|tiles|metrics|readyz|openrpc)/
const PAGES = [
  ...['#/home', '#/map', '#/tables', '#/tables/flood', '#/datasets', '#/datasets/set/gauges', '#/models'],
  ...['#/models/rain', '#/modules', '#/outbox', '#/fleet', '#/sessions', '#/health', '#/help'],
]

async function measureOf(): Promise<string> {
  const script = pathToFileURL(path.resolve('scripts/pictures/gallery/measure.mjs')).href
  const { layoutFaults } = (await import(script)) as { layoutFaults: () => string[] }
  return `(${String(layoutFaults)})()`
}

/** Shows each page anew while its requests are treated in one way. */
async function visit(
  { page, goTo }: ConsolePage,
  treat: (route: Route) => unknown,
  look: (address: string) => Promise<void>,
): Promise<void> {
  await goTo('#/nowhere')
  await page.route(ANSWERS, async (route) => void (await treat(route)))
  for (const address of PAGES) {
    await goTo(address)
    await look(address)
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' })
}

t.test(
  'console: pages that wait show a placeholder, pages that are refused the reason',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await fillGateway(gateway)
    const measure = await measureOf()
    const view = await openConsole(await startBrowser(t), gateway.url, { width: 360, height: 740 })
    const { page } = view
    await signIn(view, gateway.admin)
    const held: Route[] = []
    await t.test('no answer yet', async (t) => {
      await visit(
        view,
        (route) => held.push(route),
        async (address) => {
          await page.locator('main .skeleton').first().waitFor()
          const headings =
            await page.evaluate(`[...document.querySelectorAll('main h2')].filter((heading) => {
          let text = ''
          for (let next = heading.nextElementSibling; next !== null && next.localName !== 'h2'; )
            [text, next] = [text + next.textContent, next.nextElementSibling]
          return text === ''
        }).map((each) => each.textContent)`)
          t.same(headings, [], `${address}: no part is blank`)
          t.same(await page.evaluate(measure), [], `${address} fits`)
        },
      )
    })
    for (const route of held) await route.abort().catch(() => undefined) // the page may have ended it
    await t.test('an error of the gateway', async (t) => {
      const error = { code: -32603, message: 'Internal error', data: { name: 'INTERNAL' } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error })
      await visit(
        view,
        (route) => route.fulfill({ status: 500, contentType: 'application/json', body }),
        async (address) => {
          await page.getByText('INTERNAL: Internal error').first().waitFor()
          const text = (await page.locator('main').textContent()) ?? ''
          t.notMatch(text, /undefined|Cannot read/, `${address}: no error of the page itself`)
          t.same(await page.evaluate(measure), [], `${address} fits`)
        },
      )
    })
    await t.test('an error of the gateway on a Japanese page: a Japanese sentence comes first', async (t) => {
      const answerWith = async (name: string, look: string) => {
        await view.goTo('#/nowhere')
        const error = { code: -32603, message: 'Internal error', data: { name } }
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error })
        await page.route(ANSWERS, (route) =>
          route.fulfill({ status: 500, contentType: 'application/json', body }),
        )
        await view.goTo('#/tables')
        const notice = page.locator('.notice.bad').filter({ hasText: look }).first()
        await notice.waitFor()
        t.equal(await notice.locator('[lang=en]').textContent(), `${name}: Internal error`)
        t.same(await page.evaluate(measure), [])
        await page.unrouteAll({ behavior: 'ignoreErrors' })
      }
      const choose = (language: string) =>
        page.evaluate(`(() => {
          const list = document.querySelector('select[name=language]')
          list.value = '${language}'
          list.dispatchEvent(new Event('change'))
        })()`)
      await choose('ja')
      await page.getByRole('button', { name: 'メニュー' }).waitFor()
      await answerWith('INTERNAL', 'ゲートウェイで内部エラーが発生しました。')
      await answerWith('NEVER_HEARD_OF', 'リクエストに失敗しました')
      await choose('en')
      await page.getByRole('button', { name: 'Menu' }).waitFor()
    })
    await t.test('a reload without an answer: the reason, and a button', async () => {
      await page.route('**/console/facts.json', (route) => route.abort('connectionrefused'))
      await page.reload()
      await page.getByText('The gateway cannot be reached').waitFor()
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.locator('.shell').waitFor() // the session is the tab's
    })
    await t.test('the gateway is back: the pages show what they read', async (t) => {
      await view.goTo('#/health')
      await page.getByRole('cell', { name: 'database' }).waitFor()
      t.equal(await page.locator('main .notice.bad').count(), 0)
    })
  },
)
