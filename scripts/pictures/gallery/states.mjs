// States of pages that are photographed: empty, loading, refused, stopped, and a session that has ended.

/** Pages by their first words in the name of a picture. */
const PAGES = [
  ['home', '#/home'],
  ['map', '#/map'],
  ['tables', '#/tables'],
  ['import', '#/import'],
  ['datasets', '#/datasets'],
  ['models', '#/models'],
  ['modules', '#/modules'],
  ['outbox', '#/outbox'],
  ['fleet', '#/fleet'],
  ['sessions', '#/sessions'],
  ['health', '#/health'],
  ['help', '#/help'],
]
/** Pages of one thing of the filled gateway. */
const THINGS = [
  ['table', '#/tables/incidents'],
  ['dataset', '#/datasets/set/gauges'],
  ['citation', '#/datasets/citation/spring-report_1'],
  ['model-store', '#/models/rain-forecast'],
]
/** What pages ask the gateway for after sign-in; not the console's own files. */
const ANSWERS = /^https?:\/\/[^/]+\/(api|tiles|metrics|readyz|openrpc)/

/** Pages of a gateway without maps, tables, datasets and models. */
export function emptyViews() {
  return PAGES.map(([name, address]) => [`empty-${name}`, address, wait(name === 'map' ? 3000 : 800)])
}

/**
 * Pages that wait for their answers, that are refused, and whose gateway is stopped while they are open.
 *
 * @param facts `question`: the query of a route
 */
export function stateViews({ question }) {
  const pages = [...PAGES.filter(([name]) => name !== 'import'), ...THINGS]
  return [
    ...pages.map(([name, address]) => [
      `loading-${name}`,
      address,
      wait(800),
      { before: holdAnswers, isBusy: true },
    ]),
    ...pages.map(([name, address]) => [`error-${name}`, address, wait(800), { before: refuse }]),
    ...pages.map(([name, address]) => [`stopped-${name}`, address, stopWhileOpen(address)]),
    ['session-ended', '#/tables', wait(800), { before: endSession }],
    ['session-kept', `#/map?${question}`, reload],
    ['sign-in-wrong', '#/home', signInWrongly],
    ['sign-in-old-link', '#/home', openOldLink],
    ['sign-in-stopped', '#/home', signInStopped],
    ['console-stopped', '#/home', reloadStopped],
  ]
}

function wait(ms) {
  return (page) => page.waitForTimeout(ms)
}

/** Answers nothing until the page is left. @returns function that ends the requests */
async function holdAnswers(page) {
  const held = []
  await page.route(ANSWERS, (route) => void held.push(route))
  return () => Promise.all(held.map((route) => route.abort().catch(() => undefined)))
}

/** Refuses calls with an error of the gateway. */
async function refuse(page) {
  const error = { code: -32603, message: 'Internal error', data: { name: 'INTERNAL' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error })
  await page.route(ANSWERS, (route) => route.fulfill({ status: 500, contentType: 'application/json', body }))
}

async function endSession(page) {
  const error = { code: 1001, message: 'The session has ended', data: { name: 'UNAUTHORIZED' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error })
  await page.route(ANSWERS, (route) => route.fulfill({ status: 401, contentType: 'application/json', body }))
}

/** Breaks every connection of an open page, and uses the page as somebody does who has not noticed it. */
const stopWhileOpen = (address) => async (page) => {
  await page.waitForTimeout(address === '#/map' ? 3000 : 800)
  await page.route(ANSWERS, (route) => route.abort('connectionrefused'))
  if (address === '#/map') {
    const box = await page.locator('.map-box').boundingBox()
    for (const part of [0.4, 0.6]) await page.mouse.click(box.x + box.width * part, box.y + box.height / 2)
    await page.waitForTimeout(1500)
    return
  }
  const refresh = page.locator('main form.row .button.plain')
  if ((await refresh.count()) > 0) await refresh.first().click()
  await page.waitForTimeout(4000)
}

/** Opens the page anew: its session and what it shows stay. */
async function reload(page) {
  await page.reload()
  await page.locator('.totals').first().waitFor()
  await page.waitForTimeout(4000)
}

/** Opens the page as one that nobody has signed in to. */
async function signOut(page) {
  await page.evaluate(() => sessionStorage.clear())
  await page.reload()
}

async function signInWrongly(page) {
  await signOut(page)
  await page.locator('input[name=key]').fill('fgk_wrong')
  await page.locator('input[type=password]').fill('fgs_wrong')
  await page.locator('button.main').click()
  await page.locator('.notice.bad').waitFor()
}

async function signInStopped(page) {
  await signOut(page)
  await page.locator('input[name=key]').fill('fgk_any')
  await page.locator('input[type=password]').fill('fgs_any')
  await page.route(ANSWERS, (route) => route.abort('connectionrefused'))
  await page.locator('button.main').click()
  await page.locator('.notice.bad').waitFor()
}

async function openOldLink(page) {
  await page.evaluate(() => {
    location.hash = '#sign-in=AAAAAAAAAAAAAAAAAAAAAA'
  })
  await signOut(page)
  await page.locator('.notice.bad').waitFor()
}

/** Opens the page while its gateway answers nothing but the page itself. */
async function reloadStopped(page) {
  await page.route('**/console/facts.json', (route) => route.abort('connectionrefused'))
  await page.reload()
  await page.locator('.notice.bad').waitFor()
}
