import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { fillGateway, townGateway } from '../support/console-gateway.js'

const skip = missingChromium

t.test('console: language and theme can be changed and are kept', { skip }, async (t) => {
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
  // texts that browsers and the gateway have in another language
  await goTo('#/import')
  await page.getByText('ファイルを選択').waitFor()
  await page.getByText('選択されていません').waitFor()
  await goTo('#/api/routing.dijkstra')
  await page.locator('textarea[name=params]').fill('[{}]')
  await page.getByRole('button', { name: '送信' }).click()
  await page
    .locator('.notice.bad', {
      hasText: /^HTTP 200 .* 入力内容に誤りがあります。.* \(INVALID_PARAMS: /,
    })
    .waitFor()
  await goTo('#/health')
  await page.getByRole('button', { name: 'サインアウト' }).click()
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  t.same(complaints, [])
})

t.test(
  'console: sign-in and pages work by keyboard alone; an ended session is reported',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page } = view
    await page.locator('input[name=key]:focus').waitFor() // the first field has the focus by itself
    await page.keyboard.type(gateway.admin.apiKey)
    await page.keyboard.press('Tab')
    await page.keyboard.type(gateway.admin.secret)
    await page.keyboard.press('Enter')
    const link = page.getByRole('link', { name: 'Tables' })
    await link.waitFor()
    for (let tabs = 0; tabs < 20; tabs++) {
      if (
        await link.evaluate(
          (element) =>
            element ===
            (element as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
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
  },
)

t.test('console: compares two citations, and each has a landing page', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await fillGateway(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/datasets')
  await page.getByText('Compare citations').click()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByText('1 added, 0 removed, 1 changed, 1 unchanged.').waitFor()
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

t.test('console: calls a method in the API explorer', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/api')
  await page.getByLabel('Filter').fill('list_maps')
  await page.getByRole('link', { name: 'routing.list_maps' }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/"name": "town"/).waitFor()
  await goTo('#/api')
  await page.getByLabel('Filter').fill('route')
  await page.getByRole('link', { name: 'routing.dijkstra', exact: true }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.notice.good', { hasText: /^HTTP 200/ }).waitFor()
  await page.getByText(/"max_risk"/).waitFor()
  await page.locator('textarea[name=params]').fill('[{}]')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.notice.bad', { hasText: /^HTTP 200 · \d+ ms · INVALID_PARAMS: / }).waitFor()
  t.same(complaints, [])
})

t.test('console: lists the sessions of the key, and ends another one and its own', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const SESSION = '/api/v1/session/jsonrpc'
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  const { body } = await gateway.call(SESSION, 'session.open_session', {})
  const { access_token: token } = body.result
  await goTo('#/sessions')
  const ends = page.getByRole('button', { name: /^Close session [0-9a-f-]{36}/ })
  await ends.nth(1).waitFor()
  t.equal(await ends.count(), 2)
  const rows = page.getByRole('region', { name: 'Open sessions' }).locator('tbody tr')
  await rows.filter({ hasNotText: 'This session' }).getByRole('button').click()
  await page.getByText('Session closed.').waitFor()
  const checked = await gateway.call(SESSION, 'session.verify_session_token', { token })
  t.equal(checked.body.result.active, false)
  await rows.filter({ hasText: 'This session' }).getByRole('button').click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  t.same(complaints, [])
})

t.test('console: a one-time link signs in once and leaves the address', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const browser = await startBrowser(t)
  const code = gateway.gateway.offerSignIn?.(gateway.admin.apiKey)
  const open = async () => {
    const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
    await page.goto(`${gateway.url}/console/#sign-in=${code}`)
    return page
  }
  const page = await open()
  await page.getByRole('link', { name: 'Tables' }).waitFor()
  t.notMatch(page.url(), /sign-in/)
  const second = await open()
  await second.getByText('This link has been used, or is older than ten minutes.').waitFor()
})

t.test('console: the first page tells trouble first, what is here, and first steps', { skip }, async (t) => {
  const gateway = await townGateway(t)
  await fillGateway(gateway)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, complaints } = view
  await signIn(view, gateway.admin)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByText('On this gateway').waitFor()
  await page.getByText('town', { exact: true }).waitFor()
  await page.getByRole('cell', { name: 'flood' }).first().waitFor()
  await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Import a file' }).last().click()
  await page.getByRole('heading', { name: 'Import a file' }).waitFor()
  t.same(complaints, [])
})

t.test(
  'console: the map of a gateway without tables names no filter that matches nothing',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page, goTo } = view
    await signIn(view, gateway.admin)
    await goTo('#/map')
    await page.getByText('No tables yet.').first().waitFor()
    t.equal(await page.getByText('No name contains this text.').count(), 0)
  },
)

t.test(
  'console: a time breaks between its date and the time of day, on a narrow page alone',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    await fillGateway(gateway)
    const view = await openConsole(await startBrowser(t), gateway.url, { width: 360, height: 740 })
    const { page, goTo } = view
    await signIn(view, gateway.admin)
    await goTo('#/tables/flood')
    const time = page.locator('tbody tr').first().locator('td').first()
    await time.waitFor()
    t.match(await time.textContent(), /^2026-01-01T\d\d:00:00\+09:00$/, 'no zeros at its end')
    const lines = async () => {
      const parts = await time.locator('.whole-text').all()
      const boxes = await Promise.all(parts.map((part) => part.boundingBox()))
      return new Set(boxes.map((box) => Math.round(box?.y ?? 0))).size
    }
    t.equal(await lines(), 2, 'two lines, each of them whole')
    await page.setViewportSize({ width: 1440, height: 900 })
    t.equal(await lines(), 1, 'one line')
  },
)
