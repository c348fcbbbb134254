import t from 'tap'
import { type ConsolePage, drop, missingChromium, openConsole, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'

const skip = missingChromium
/** What pages ask the gateway for; not the console's own files. */
const ANSWERS = /^https?:\/\/[^/]+\/(api|tiles|metrics|readyz|openrpc)/
const PAGES = [
  ...['#/home', '#/map', '#/tables', '#/tables/flood', '#/import', '#/datasets', '#/datasets/set/gauges'],
  ...['#/models', '#/models/rain', '#/modules', '#/outbox', '#/fleet', '#/sessions', '#/health', '#/help'],
  ...['#/nowhere', '#/tables/nothing', '#/datasets/set/nothing', '#/models/nothing'],
]

/**
 * Expression for a browser: texts, labels and placeholders of English words. What is marked as English, code, and
 * what a map owes its sources are left out, and so are PostgreSQL's names of types.
 */
const ENGLISH = `(() => {
  const TYPES = /^(double precision|timestamp with(out)? time zone|character varying)/
  const LEFT_OUT = '[lang=en], code, pre, .mono, .maplibregl-ctrl-attrib'
  const isEnglish = (text) => !TYPES.test(text.trim()) && !/[\\u3040-\\u30ff\\u3400-\\u9fff]/.test(text) && /[A-Za-z]{2,}\\s+[a-z]{2,}/.test(text)
  const found = []
  const look = (element, text) => {
    if (isEnglish(text) && element.closest(LEFT_OUT) === null && element.checkVisibility()) found.push(text.trim())
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) look(node.parentElement, node.data)
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    for (const name of ['aria-label', 'title', 'placeholder']) look(element, element.getAttribute(name) ?? '')
  return found
})()`

async function signInJapanese({ page }: ConsolePage, key: { apiKey: string; secret: string }): Promise<void> {
  await page.locator('select[name=language]').selectOption('ja')
  await page.locator('input[name=key]').fill(key.apiKey)
  await page.locator('input[type=password]').fill(key.secret)
  await page.locator('button.main').click()
  await page.getByRole('navigation').waitFor()
}

t.test('console in Japanese: pages and their refusals say nothing in English alone', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await fillGateway(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo } = view
  await t.test('a wrong key', async (t) => {
    await page.locator('select[name=language]').selectOption('ja')
    await page.locator('input[name=key]').fill('fgk_wrong')
    await page.locator('input[type=password]').fill('fgs_wrong')
    await page.locator('button.main').click()
    await page.getByText('API キーまたはシークレットが正しくないか').waitFor()
    t.same(await page.evaluate(ENGLISH), [])
  })
  await signInJapanese(view, gateway.admin)
  await t.test('pages', async (t) => {
    for (const address of PAGES) {
      await goTo(address)
      await page.locator('main h1').first().waitFor()
      await page.locator('[aria-busy=true], main .skeleton').first().waitFor({ state: 'detached' })
      await page.evaluate(`for (const each of document.querySelectorAll('main details')) each.open = true`)
      t.same(await page.evaluate(ENGLISH), [], address)
    }
  })
  await t.test('a form that is refused: what is wrong, then the words of the gateway', async (t) => {
    await goTo('#/tables')
    await page.locator('main summary').first().click()
    await page.locator('input[name=data_name]').fill('a/b')
    await page.locator('main form .button.main').first().click()
    const notice = page.locator('main .notice.bad').first()
    await notice.waitFor()
    const text = (await notice.textContent()) ?? ''
    t.match(text, /^入力内容に誤りがあります。.*指定してください/)
    t.match(await notice.locator('[lang=en]').textContent(), /^INVALID_PARAMS: Invalid params: \$\./)
    t.same(await page.evaluate(ENGLISH), [])
  })
  await t.test('a file with a value that its column does not take', async (t) => {
    await goTo('#/tables/flood')
    await page.getByRole('tab').nth(3).click()
    await drop(view, 'flood.csv', 'cell,risk,start_datetime\n1,high,2026-01-01T10:00:00Z\n')
    await page.locator('.preview tbody tr').first().waitFor()
    t.same(await page.evaluate(ENGLISH), [])
  })
  await t.test('an error of the gateway', async (t) => {
    const error = { code: -32603, message: 'The gateway failed', data: { name: 'INTERNAL' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error })
    await page.route(ANSWERS, (route) =>
      route.fulfill({ status: 500, contentType: 'application/json', body }),
    )
    for (const address of ['#/tables', '#/health', '#/outbox', '#/map', '#/datasets']) {
      await goTo(address)
      await page.getByText('ゲートウェイで内部エラーが発生しました').first().waitFor()
      t.same(await page.evaluate(ENGLISH), [], address)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })
})
