// Tasks of the page's main thread over 100 ms with 200 tables, 1,000,000 rows in one, and 10,000 features on the map.
import { setTimeout as sleep } from 'node:timers/promises'
import { newPage, signIn } from './browser.mjs'
import { CITY } from './world.mjs'

const LIMIT_MS = 100
const MIDDLE = [(CITY[0] + CITY[2]) / 2, (CITY[1] + CITY[3]) / 2]
/** Tasks of a thread, and what the trace says about its script. */
const CATEGORIES = ['toplevel', 'devtools.timeline']

/** @returns one row for each act, with its longest tasks by wall clock and by processor time */
export async function measureTasks(browser, world) {
  const { page, protocol, close } = await newPage(browser)
  const rows = []
  const measure = async (title, act) =>
    rows.push({ title, target: LIMIT_MS, ...(await traced(protocol, act)) })
  try {
    await page.goto(`${world.url}/console/`)
    await signIn(page, world)
    await page.getByRole('navigation').first().waitFor()
    const goTo = async (hash) => {
      await page.evaluate((next) => {
        location.hash = next
      }, hash)
    }
    await measure('list of 200 tables', async () => {
      await goTo('#/tables')
      await page.getByRole('link', { name: 'table_150' }).waitFor()
      await sleep(1000)
    })
    await measure('table of 1,000,000 rows, with its map', async () => {
      await goTo('#/tables/rows')
      await page
        .getByText(/1,000,000/)
        .first()
        .waitFor()
      await sleep(4000)
    })
    await measure('scrolling and paging through it', async () => {
      await page.mouse.move(700, 500)
      for (let i = 0; i < 20; i++) {
        await page.mouse.wheel(0, 300)
        await sleep(50)
      }
      await page.getByRole('button', { name: /next/i }).first().click()
      await sleep(3000)
    })
    await measure('map page with 10,000 records', async () => {
      await goTo(`#/map/places?map=porto&events=places&view=${MIDDLE.join(',')},12`)
      await page.getByText('Records shown: 10,000').first().waitFor()
      await sleep(3000)
    })
    await measure('moving and zooming this map', async () => {
      await page.mouse.move(800, 400)
      for (let i = 0; i < 10; i++) {
        await page.mouse.wheel(0, i % 2 === 0 ? 240 : -240)
        await sleep(500)
      }
      await sleep(2000)
    })
    return rows
  } finally {
    await close()
  }
}

/** Runs an act under a trace. */
async function traced(protocol, act) {
  const events = []
  const collect = ({ value }) => events.push(...value)
  protocol.on('Tracing.dataCollected', collect)
  await protocol.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES },
  })
  await act()
  const complete = new Promise((resolve) => protocol.once('Tracing.tracingComplete', resolve))
  await protocol.send('Tracing.end')
  await complete
  protocol.off('Tracing.dataCollected', collect)
  return longestTasks(events)
}

/** Longest tasks of the main thread of pages. A task that waits for a turn of the processor is long, too. */
function longestTasks(events) {
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}:${tid}`),
  )
  const tasks = events.filter(
    ({ name, ph, pid, tid }) =>
      ph === 'X' && name === 'ThreadControllerImpl::RunTask' && main.has(`${pid}:${tid}`),
  )
  const most = (of) => tasks.reduce((longest, task) => Math.max(longest, of(task)), 0)
  const long = tasks.filter(({ tdur = 0 }) => tdur > LIMIT_MS * 1000)
  return {
    wallMs: most(({ dur }) => dur) / 1000,
    cpuMs: most(({ tdur = 0 }) => tdur) / 1000,
    over: long.length,
    inside: long.map((task) => partsOf(task, events)),
  }
}

/** Shares of the time of a long task. */
function partsOf({ ts, dur, tdur, pid, tid }, events) {
  const inside = events.filter(
    (event) =>
      event.ph === 'X' &&
      event.pid === pid &&
      event.tid === tid &&
      event.ts > ts &&
      event.ts + event.dur <= ts + dur,
  )
  const parts = inside
    .sort((a, b) => (b.tdur ?? 0) - (a.tdur ?? 0))
    .slice(0, 4)
    .map(
      ({ name, tdur: own = 0, args }) =>
        `${name} ${Math.round(own / 1000)} ms ${args?.data?.functionName ?? ''}`,
    )
  return `${Math.round(tdur / 1000)} ms: ${parts.join(', ')}`
}
