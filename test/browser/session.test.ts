import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { townGateway } from '../support/console-gateway.js'

const skip = missingChromium
const KEPT = 'fieldgate-session'

t.test('session: a reload keeps it and the address; it is verified once', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/health')
  await page.getByRole('cell', { name: 'database' }).waitFor()
  const checks: string[] = []
  page.on('request', (request) => {
    const body = request.postData() ?? ''
    if (body.includes('session.')) checks.push(JSON.parse(body).method)
  })
  await page.reload()
  await page.getByRole('cell', { name: 'database' }).waitFor()
  t.match(page.url(), /#\/health$/)
  t.same(checks, ['session.verify_session_token'])
  const stored = String(await page.evaluate('JSON.stringify({ ...sessionStorage })'))
  t.notMatch(stored, gateway.admin.secret, 'the secret of the key is not stored')
  t.same(Object.keys(JSON.parse(JSON.parse(stored)[KEPT])), ['token', 'keyId', 'endsAtMs'])
  t.notMatch(await page.evaluate('JSON.stringify({ ...localStorage })'), 'token')

  const other = await page.context().newPage()
  await other.goto(`${gateway.url}/console/`)
  await other.getByLabel('API key').waitFor()
  t.pass('another tab has no session')

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  t.equal(await page.evaluate('sessionStorage.length'), 0)
  await page.reload()
  await page.getByLabel('API key').waitFor()
  t.equal(await page.getByText('The session has ended').count(), 0, 'nothing to warn about')
  t.same(complaints, [])
})

t.test('session: one that ended while the page was away is reported once', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo } = view
  await signIn(view, gateway.admin)
  await goTo('#/tables')
  await page.evaluate(`(() => {
    const kept = JSON.parse(sessionStorage.getItem('${KEPT}'))
    sessionStorage.setItem('${KEPT}', JSON.stringify({ ...kept, endsAtMs: Date.now() - 1 }))
  })()`)
  await page.reload()
  await page.getByText('The session has ended').waitFor()
  await page.reload()
  await page.getByLabel('API key').waitFor()
  t.equal(await page.getByText('The session has ended').count(), 0)
  await signIn(view, gateway.admin)
  await page.getByRole('heading', { name: 'Tables' }).waitFor() // the address is where it was

  await gateway.revokeKey(gateway.admin.apiKey)
  await page.reload()
  await page.getByText('The session has ended').waitFor()
  t.equal(await page.evaluate('sessionStorage.length'), 0, 'a refused token is forgotten')
})

t.test('session: a copy of the tab uses it until one of them signs out', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page } = view
  await signIn(view, gateway.admin)
  const kept = String(await page.evaluate(`sessionStorage.getItem('${KEPT}')`))
  const copy = await page.context().newPage()
  await copy.addInitScript(`if (sessionStorage.getItem('copied') === null) {
    sessionStorage.setItem('copied', 'yes')
    sessionStorage.setItem('${KEPT}', ${JSON.stringify(kept)})
  }`)
  await copy.goto(`${gateway.url}/console/#/tables`)
  await copy.getByRole('heading', { name: 'Tables' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await copy.getByRole('link', { name: 'Datasets' }).click()
  await copy.getByText('The session has ended').waitFor()
})

t.test('session: a gateway that does not answer the check ends nothing', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo } = view
  await signIn(view, gateway.admin)
  await goTo('#/tables')
  await page.route(/\/api\//, (route) => route.abort('connectionrefused'))
  await page.reload()
  await page.getByText('The gateway cannot be reached').first().waitFor()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.reload()
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  await page.getByText('The gateway cannot be reached').first().waitFor({ state: 'detached' })
})

t.test('session: a key without session:read keeps its session through a reload', { skip }, async (t) => {
  const gateway = await townGateway(t)
  const key = await gateway.makeKey(['loader:read', 'session:write'])
  const view = await openConsole(await startBrowser(t), gateway.url)
  const { page, goTo } = view
  await signIn(view, key)
  await goTo('#/tables')
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
})

t.test(
  'session: a link that is not valid any more leaves the session that the tab has',
  { skip },
  async (t) => {
    const gateway = await townGateway(t)
    const view = await openConsole(await startBrowser(t), gateway.url)
    const { page } = view
    await signIn(view, gateway.admin)
    await page.goto('about:blank')
    await page.goto(`${gateway.url}/console/#sign-in=used`)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    t.notMatch(page.url(), /sign-in/)
  },
)
