// node scripts/lighthouse.mjs [--data-dir=DIR]: scores of Lighthouse for each page of the console, by hand. It is no dependency: install
// it elsewhere (`npm install --prefix DIR lighthouse`) and name that place, LIGHTHOUSE_DIR=DIR.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { CHROMIUM } from './bench/console/browser.mjs'
import { startGateway } from './bench/gateway.mjs'

const CATEGORIES = ['performance', 'accessibility', 'best-practices']
const TARGET = 95
const PAGES = [
  'sign-in',
  ...['home', 'map', 'tables', 'tables/flood', 'import', 'datasets', 'models', 'modules', 'outbox'],
  ...['fleet', 'sessions', 'health', 'api', 'help'],
]
const FOLDER = process.env.LIGHTHOUSE_DIR
const ONLY = process.argv.slice(2)

if (FOLDER === undefined || !existsSync(path.join(FOLDER, 'node_modules/lighthouse'))) {
  console.log(
    'skipped: `npm install --prefix DIR lighthouse` outside the repository, then LIGHTHOUSE_DIR=DIR',
  )
} else if (!existsSync(CHROMIUM)) console.log(`skipped: ${CHROMIUM} is not installed`)
else process.exitCode = (await run()) ? 0 : 1

/** @returns whether every page is above the target */
async function run() {
  const load = createRequire(path.resolve(FOLDER, 'package.json'))
  const { default: lighthouse, desktopConfig } = await import(pathToFileURL(load.resolve('lighthouse')).href)
  const { default: puppeteer } = await import(pathToFileURL(load.resolve('puppeteer-core')).href)
  const gateway = await startGateway({ args: ['--demo'] })
  const browser = await puppeteer.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking', '--use-angle=swiftshader'],
  })
  let isGood = true
  try {
    const session = await openSession(gateway)
    const measurePage = async (name) => {
      const page = await browser.newPage()
      try {
        if (name !== 'sign-in') await page.evaluateOnNewDocument(enter, session, `#/${name}`)
        const url = `${gateway.url}/console/${name === 'sign-in' ? '' : '#sign-in=code'}`
        const options = { onlyCategories: CATEGORIES, logLevel: 'error', disableStorageReset: true }
        return (await lighthouse(url, options, desktopConfig, page)).lhr
      } finally {
        await page.close()
      }
    }
    for (const name of ONLY.length > 0 ? ONLY : PAGES) {
      let lhr = await measurePage(name)
      for (const fault of faultsOf(lhr)) console.log(`${name.padEnd(14)} not measured, once more: ${fault}`)
      if (faultsOf(lhr).length > 0) lhr = await measurePage(name)
      isGood = tell(name, lhr) && isGood
    }
  } finally {
    await browser.close()
    await gateway.stop()
  }
  return isGood
}

/** Faults of Lighthouse itself: an audit without a result leaves its category without a score. */
function faultsOf({ runtimeError, audits }) {
  if (runtimeError !== undefined) return [`${runtimeError.code}: ${runtimeError.message}`]
  const failed = Object.values(audits).filter(({ scoreDisplayMode }) => scoreDisplayMode === 'error')
  return [...new Set(failed.map(({ errorMessage }) => errorMessage))]
}

/** Prints the scores, and what cost points. @returns whether all are above the target */
function tell(name, { categories, audits }) {
  const scores = CATEGORIES.map((id) => Math.round((categories[id].score ?? 0) * 100))
  console.log(`${name.padEnd(14)} ${CATEGORIES.map((id, i) => `${id} ${scores[i]}`).join(', ')}`)
  const weighted = CATEGORIES.flatMap((id) => categories[id].auditRefs).filter(({ weight }) => weight > 0)
  for (const { id } of weighted) {
    const { score, title, displayValue = '', details } = audits[id]
    if (score === null || score >= 0.9) continue
    const items = (details?.items ?? [])
      .slice(0, 3)
      .map((item) => item.node?.snippet ?? item.description ?? '')
    console.log(`  ${id} ${score}: ${title} ${displayValue} ${items.join(' ').slice(0, 300)}`)
  }
  return scores.every((score) => score > TARGET)
}

async function openSession({ url, headers }) {
  const response = await fetch(`${url}/api/v1/session/jsonrpc`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'session.open_session',
      params: { expires_in: 3600 },
    }),
  })
  const { result } = await response.json()
  return { ...result, api_key: headers.APIKey }
}

/** Runs in the page before its own scripts: the one-time link is answered here, each time, and leads to a page. */
function enter(session, hash) {
  const { fetch } = window
  window.fetch = (address, init) =>
    address === '/console/sign-in'
      ? Promise.resolve(new Response(JSON.stringify({ jsonrpc: '2.0', id: null, result: session })))
      : fetch(address, init)
  const { replaceState } = history
  history.replaceState = function (state, title, url) {
    history.replaceState = replaceState
    replaceState.call(this, state, title, String(url).replace(/#.*$/, hash))
  }
}
